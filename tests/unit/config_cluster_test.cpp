// The keys of a cluster.
#include <gmock/gmock.h>

#include "app/config/paths.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Strings = std::vector<std::string>;

// `keys` are those of `cluster`, from line 2 on.
std::string with_cluster(const std::string& keys) {
  return "cameras: {dock: {source: 'test://pattern?width=320&height=240&rate=25', on_partition: stop}}\ncluster: {" +
         keys + "}\n";
}
const std::string on_this_machine = "name: hall, etcd: ['http://127.0.0.1:2379'], address: '127.0.0.1:8443'";

class ClusterConfigTest : public ConfigTest {
 protected:
  static Strings wrong(const std::string& keys) { return errors(with_cluster(keys)); }
  static Strings not_now(const std::string& keys) { return conditions(with_cluster(keys)); }
};

TEST_F(ClusterConfigTest, WithoutItThereIsNone) {
  EXPECT_FALSE(load("cameras: {dock: {source: 'test://pattern?width=320&height=240&rate=25'}}\n").rig.cluster);
  EXPECT_EQ(cameras("cameras: {dock: {source: 'test://pattern?width=320&height=240&rate=25'}}\n").at(0).on_partition,
            OnPartition::keep);
}

TEST_F(ClusterConfigTest, KeysAreRead) {
  make_certificate("one.pem", "one.key");
  ::setenv("CAMPIPE_TEST_NODE", "one.hall", 1);
  const LoadedConfig loaded =
      load(with_cluster("name: hall, etcd: ['https://10.0.0.1:2379', 'https://etcd-2.lan:2379/', 'http://[::1]:2379'], "
                        "node: '${CAMPIPE_TEST_NODE}', address: '10.0.0.1:8443', labels: {floor: 2, side: north}, "
                        "tls: {ca: one.pem, certificate: one.pem, key: one.key}, on_etcd_missing: run, "
                        "links: {encrypt: false, ports: 7000-7099, transports: [ucx, zeromq]}"));
  EXPECT_EQ(formatted(loaded), Strings());
  const ClusterConfig expected{
      "hall",
      {"https://10.0.0.1:2379", "https://etcd-2.lan:2379/", "http://[::1]:2379"},
      "one.hall",
      "10.0.0.1:8443",
      {{"floor", "2"}, {"side", "north"}},
      ClusterTlsConfig{"one.pem", "one.pem", "one.key"},
      OnEtcdMissing::run,
      {.encrypt = false, .ports = "7000-7099", .transports = {LinkTransport::ucx, LinkTransport::zeromq}}};
  EXPECT_EQ(loaded.rig.cluster, expected);
  EXPECT_EQ(loaded.rig.cameras.at(0).on_partition, OnPartition::stop);
}

TEST_F(ClusterConfigTest, OnThisMachineItNeedsNoCertificates) { EXPECT_EQ(wrong(on_this_machine), Strings()); }

TEST_F(ClusterConfigTest, NameMembersAndAddressAreRequired) {
  EXPECT_THAT(wrong("node: one"), UnorderedElementsAre("rig.yaml:2:1: cluster: missing key 'name'",
                                                       "rig.yaml:2:1: cluster: missing key 'etcd'",
                                                       "rig.yaml:2:1: cluster: missing key 'address'"));
  EXPECT_THAT(wrong(on_this_machine + ", tls: {}"),
              UnorderedElementsAre(HasSubstr("cluster.tls: missing key 'ca'"),
                                   HasSubstr("cluster.tls: missing key 'certificate'"),
                                   HasSubstr("cluster.tls: missing key 'key'")));
}

TEST_F(ClusterConfigTest, NamesArePartsOfKeys) {
  for (const std::string& bad : Strings{"a/b", "", "-a", ".a", "hall 1", "häll", std::string(65, 'a')}) {
    EXPECT_THAT(wrong(on_this_machine + ", node: '" + bad + "'"),
                ElementsAre(HasSubstr("cluster.node: expected 1 to 64 of the characters")))
        << bad;
  }
}

TEST_F(ClusterConfigTest, MembersAreUrlsWithAPortAndNothingElse) {
  for (const std::string bad :
       {"10.0.0.1:2379", "https://10.0.0.1", "https://:2379", "https://10.0.0.1:0", "https://10.0.0.1:2379/v3",
        "https://ann:secret@10.0.0.1:2379", "ftp://10.0.0.1:2379"}) {
    EXPECT_THAT(wrong("name: hall, etcd: ['" + bad + "'], address: '[::1]:1'"),
                ElementsAre(HasSubstr("cluster.etcd[0]: expected a member of etcd: https://HOST:PORT")))
        << bad;
  }
  EXPECT_THAT(wrong("name: hall, etcd: [], address: '[::1]:1'"), ElementsAre(HasSubstr("at least one member")));
  EXPECT_THAT(wrong("name: hall, etcd: ['http://[::1]:1', 'http://[::1]:1'], address: '[::1]:1'"),
              ElementsAre(HasSubstr("is there twice")));
}

TEST_F(ClusterConfigTest, BeyondThisMachineCertificatesAreNeeded) {
  EXPECT_THAT(wrong("name: hall, etcd: ['http://10.0.0.1:2379'], address: '[::1]:1'"),
              ElementsAre(HasSubstr("rig.yaml:2:30: cluster.etcd[0]: whoever reaches 'http://10.0.0.1:2379' could take "
                                    "over the cluster: let etcd serve https://")));
  EXPECT_THAT(wrong("name: hall, etcd: ['https://10.0.0.1:2379'], address: '[::1]:1'"),
              ElementsAre(HasSubstr("missing key 'tls': etcd by https:// asks for a certificate")));
  make_certificate("one.pem", "one.key");
  make_certificate("two.pem", "two.key");
  EXPECT_THAT(not_now("name: hall, etcd: ['https://10.0.0.1:2379'], address: '[::1]:1', "
                      "tls: {ca: one.pem, certificate: one.pem, key: two.key}"),
              ElementsAre(HasSubstr("the file 'two.key' does not belong to the certificate")));
}

TEST_F(ClusterConfigTest, OtherMachinesComeInWithACertificateOnly) {
  const std::string elsewhere = "name: hall, etcd: ['http://127.0.0.1:2379'], address: '10.0.0.1:8443'";
  EXPECT_THAT(wrong(elsewhere),
              ElementsAre(HasSubstr("cluster.address: whoever reaches '10.0.0.1:8443' could watch the "
                                    "cameras as the other nodes do: give `tls`")));
  EXPECT_EQ(wrong(on_this_machine), Strings());
  make_certificate("one.pem", "one.key");
  EXPECT_EQ(wrong(elsewhere + ", tls: {ca: one.pem, certificate: one.pem, key: one.key}"), Strings());
}

TEST_F(ClusterConfigTest, TheAddressIsOneThatOthersReach) {
  for (const std::string bad : {":8443", "0.0.0.0:8443", "[::]:8443", "10.0.0.1", "10.0.0.1:0", "off"}) {
    EXPECT_THAT(wrong("name: hall, etcd: ['http://[::1]:1'], address: '" + bad + "'"),
                ElementsAre(HasSubstr("cluster.address: expected HOST:PORT, as the other nodes reach this one")))
        << bad;
  }
}

// What the file says is kept in etcd, as it stands there.
TEST_F(ClusterConfigTest, PasswordsAreNotWrittenOut) {
  ::setenv("CAMPIPE_TEST_SECRET", "secret", 1);
  const auto with_source = [](const std::string& url) {
    return "cameras: {dock: {source: '" + url + "'}}\ncluster: {" + on_this_machine + "}\n";
  };
  for (const std::string& url :
       Strings{"rtsp://ann:secret@10.0.0.9/live", "rtsp://ann:s${CAMPIPE_TEST_SECRET}@10.0.0.9/",
               "http://10.0.0.9/live.m3u8?token=secret"}) {
    EXPECT_THAT(errors(with_source(url)),
                ElementsAre("rig.yaml:1:26: cameras.dock.source: a password stands here, and would be kept in etcd: "
                            "write ${VARIABLE} in its place, and set the variable on each node"))
        << url;
  }
  for (const std::string& url : Strings{"rtsp://ann:${CAMPIPE_TEST_SECRET}@10.0.0.9/live", "rtsp://10.0.0.9:554/a@b",
                                        "http://10.0.0.9/live.m3u8?token=${CAMPIPE_TEST_SECRET}"}) {
    EXPECT_EQ(errors(with_source(url)), Strings()) << url;
  }
  EXPECT_EQ(errors("cameras: {dock: {source: 'rtsp://ann:secret@10.0.0.9/live'}}\n"), Strings()) << "no cluster";
}

TEST_F(ClusterConfigTest, SecretsOfUsersAreNotWrittenOut) {
  ::setenv("CAMPIPE_TEST_SECRET", "open-sesame", 1);
  const std::string hash =
      "$argon2id$v=19$m=65536,t=2,p=1$MTIzNDU2Nzg5MDEyMzQ1Ng$MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI";
  const auto with_user = [&](const std::string& secret) {
    return errors(with_cluster(on_this_machine) + "users: {ann: {password: '" + hash + "', rtsp_secret: " + secret +
                  ", may: view}}\n");
  };
  EXPECT_THAT(with_user("open-sesame"), ElementsAre(HasSubstr("users.ann.rtsp_secret: a password stands here")));
  EXPECT_EQ(with_user("'${CAMPIPE_TEST_SECRET}'"), Strings());
}

// They are in a file of this machine.
TEST_F(ClusterConfigTest, ChangesThroughTheApiArePartOfNoCluster) {
  write("rig.api.yaml", "cameras: {belt: {source: 'test://pattern?width=320&height=240&rate=25'}}\n");
  EXPECT_THAT(
      wrong(on_this_machine),
      ElementsAre(testing::AllOf(HasSubstr("rig.yaml:2:1: cluster: changes that were made through the API, in "),
                                 HasSubstr("rig.api.yaml, are no part of a cluster's rig"))));
}

// Names of files have room for those of node and fence.
TEST_F(ClusterConfigTest, NamesOfFilesAreNotTooLong) {
  const auto with_path = [](const std::string& path, const std::string& output) {
    return "cameras: {dock: {source: 'test://pattern?width=320&height=240&rate=25', record: {path: '" + path +
           "'}, outputs: {small: {record: {path: '" + output + "'}}}}}\n";
  };
  const std::string fits(80, 'x');
  const std::string long_name(90, 'x');
  const std::string cluster = "cluster: {" + on_this_machine + "}\n";
  EXPECT_EQ(errors(with_path("{camera}" + fits + ".mp4", "{camera}b" + fits + ".mp4") + cluster), Strings());
  EXPECT_EQ(errors(with_path("{camera}" + long_name + ".mp4", "{camera}b" + long_name + ".mp4")), Strings());
  EXPECT_THAT(
      errors(with_path("{camera}" + long_name + ".mp4", "{camera}b" + long_name + ".mp4") + cluster),
      ElementsAre(HasSubstr("cameras.dock.record.path: a file name may have 255 bytes, and a path 4095; this one "
                            "has more in a cluster, which adds @NODE@FENCE"),
                  HasSubstr("cameras.dock.outputs.small.record.path: a file name may have 255 bytes")));
  const auto snapshots_to = [](const std::string& path) {
    return "cameras: {dock: {source: 'test://pattern?width=320&height=240&rate=25', snapshot: {path: '" + path +
           "'}}}\n";
  };
  EXPECT_EQ(errors(snapshots_to("{camera}" + std::string(120, 'x') + ".jpg") + cluster), Strings());
  EXPECT_EQ(errors(snapshots_to("{camera}" + std::string(130, 'x') + ".jpg")), Strings());
  EXPECT_THAT(errors(snapshots_to("{camera}" + std::string(130, 'x') + ".jpg") + cluster),
              ElementsAre(HasSubstr("has more in a cluster, which adds @NODE, with")));
}

TEST(WithNode, StandsBeforeTheEndingOfTheFilesName) {
  EXPECT_EQ(with_node("public/dock.jpg", "west"), "public/dock@west.jpg");
  EXPECT_EQ(with_node("a.b/events", "west"), "a.b/events@west");
  EXPECT_EQ(with_node("public/dock.jpg", ""), "public/dock.jpg");
}

TEST_F(ClusterConfigTest, ARigMayHaveMosaicsGroupsAndPushes) {
  const std::string camera = "{source: 'test://pattern?width=320&height=240&rate=25'";
  EXPECT_EQ(errors("cameras: {dock: " + camera + ", push: ['udp://10.0.0.9:5000']}, gate: " + camera +
                   "}}\nmosaics: {wall: {cameras: [dock]}}\nsync_groups: {pair: {cameras: [dock, gate], rate: 25}}\n" +
                   "cluster: {" + on_this_machine + "}\n"),
            Strings());
}

TEST_F(ClusterConfigTest, LabelsAreNamesAndTexts) {
  EXPECT_THAT(wrong(on_this_machine + ", labels: {a b: 1}"), ElementsAre(HasSubstr("a label's name has")));
  EXPECT_THAT(wrong(on_this_machine + ", labels: {a: " + std::string(257, 'x') + "}"),
              ElementsAre(HasSubstr("cluster.labels.a: is longer than 256 bytes")));
  EXPECT_THAT(wrong(on_this_machine + ", labels: {a: [1]}"),
              ElementsAre(HasSubstr("cluster.labels.a: expected a text")));
}

TEST_F(ClusterConfigTest, PortsOfLinksAreARange) {
  for (const std::string bad : {"7000", "7000-", "-7099", "0-9", "7099-7000", "7000-70000", "7000 - 7099"}) {
    EXPECT_THAT(wrong(on_this_machine + ", links: {ports: '" + bad + "'}"),
                ElementsAre(HasSubstr("cluster.links.ports: expected FIRST-LAST, ports from 1 to 65535")))
        << bad;
  }
  EXPECT_EQ(wrong(on_this_machine + ", links: {ports: 7000-7000}"), Strings());
}

TEST_F(ClusterConfigTest, TransportsOfLinksAreAutoOrAList) {
  const auto with = [](const std::string& transports, const std::string& more = "encrypt: false, ") {
    return wrong(on_this_machine + ", links: {" + more + "transports: " + transports + "}");
  };
  for (const std::string good : {"auto", "[zeromq]", "[ucx]", "[ucx, zeromq]"})
    EXPECT_EQ(with(good), Strings()) << good;
  EXPECT_THAT(with("ucx"), ElementsAre(HasSubstr("cluster.links.transports: expected auto, or a list of zeromq, ucx")));
  EXPECT_THAT(with("[]"), ElementsAre(HasSubstr("expected at least one of zeromq, ucx")));
  EXPECT_THAT(with("[tcp]"), ElementsAre(HasSubstr("cluster.links.transports[0]: expected zeromq or ucx, got 'tcp'")));
  EXPECT_THAT(with("[ucx, ucx]"),
              ElementsAre(HasSubstr("cluster.links.transports[1]: the transport 'ucx' is there twice")));
  const auto refusal = HasSubstr("ucx does not encrypt, and `encrypt` is true: set `encrypt: false` on all nodes");
  EXPECT_THAT(with("[ucx]", ""), ElementsAre(refusal));
  EXPECT_THAT(with("[zeromq, ucx]", "encrypt: true, "),
              ElementsAre(testing::AllOf(refusal, HasSubstr("cluster.links.transports[1]: "))));
  EXPECT_EQ(with("[zeromq]", ""), Strings());
  EXPECT_EQ(with("auto", ""), Strings()) << "without ucx, then";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
