// The rig's configuration in a real etcd: whole or not at all, and nobody overwrites what they have not seen.
#include "app/cluster/rig_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/etcd_members.h"

namespace campipe {
namespace CAMPIPE_FILE {

using test::EtcdMembers;
using testing::HasSubstr;

const ClusterKeys keys("test");

class RigStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
    etcd_ = std::make_unique<EtcdMembers>(1);
    client_ = std::make_unique<EtcdClient>(etcd_->servers());
  }
  StoredRig read() {
    const auto rig = read_rig(*client_, keys);
    EXPECT_TRUE(rig);
    return *rig;
  }
  std::size_t keys_there() { return client_->read_prefix(keys.rig())->values.size(); }

  std::unique_ptr<EtcdMembers> etcd_;
  std::unique_ptr<EtcdClient> client_;
};

TEST_F(RigStoreTest, IsReadAsItWasWritten) {
  EXPECT_EQ(read().generation, 0U);
  EXPECT_EQ(read().problem, "");
  const std::string text = "cameras: {dock: {source: 'rtsp://${USER}:${PASSWORD}@10.0.0.7/'}}\n";
  ASSERT_EQ(write_rig(*client_, keys, read(), text).outcome, RigWritten::done);
  EXPECT_EQ(read().text, text);
  EXPECT_NE(read().generation, 0U);
  ASSERT_EQ(write_rig(*client_, keys, read(), "").outcome, RigWritten::done);
  EXPECT_EQ(read().text, "");
  EXPECT_EQ(read().problem, "");
  EXPECT_EQ(keys_there(), 1U) << "the old one's pieces are gone";
}

TEST_F(RigStoreTest, TakesTheLargestFile) {
  std::string text(largest_rig, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
  ASSERT_EQ(write_rig(*client_, keys, read(), text).outcome, RigWritten::done);
  EXPECT_EQ(read().text, text);
  EXPECT_EQ(write_rig(*client_, keys, read(), text + 'x').outcome, RigWritten::failed);
  EXPECT_EQ(read().text, text);
}

TEST_F(RigStoreTest, WhoHasNotSeenItAsItIsDoesNotOverwriteIt) {
  ASSERT_EQ(write_rig(*client_, keys, read(), "first").outcome, RigWritten::done);
  const StoredRig seen = read();
  ASSERT_EQ(write_rig(*client_, keys, seen, "second").outcome, RigWritten::done);
  EXPECT_EQ(write_rig(*client_, keys, seen, "third").outcome, RigWritten::outdated);
  EXPECT_EQ(write_rig(*client_, keys, {}, "fourth").outcome, RigWritten::outdated);
  EXPECT_EQ(write_rig(*client_, keys, seen, "").outcome, RigWritten::outdated);
  EXPECT_EQ(read().text, "second");
  EXPECT_EQ(keys_there(), 2U) << "nothing of them lies there";
}

TEST_F(RigStoreTest, WhatAWriterLeftThatDiedIsClearedAway) {
  ASSERT_EQ(write_rig(*client_, keys, read(), "first").outcome, RigWritten::done);
  ASSERT_TRUE(client_->put(keys.rig_generation(77) + "000", "half of it"));
  EXPECT_EQ(read().text, "first");
  ASSERT_EQ(write_rig(*client_, keys, read(), "second").outcome, RigWritten::done);
  EXPECT_EQ(read().text, "second");
  EXPECT_EQ(keys_there(), 2U);
}

TEST_F(RigStoreTest, WhatIsNotWholeIsNotUsed) {
  ASSERT_EQ(write_rig(*client_, keys, read(), std::string(200'000, 'x')).outcome, RigWritten::done);
  const StoredRig rig = read();
  ASSERT_TRUE(client_->txn({{}, {EtcdOperation::erase(keys.rig_generation(rig.generation) + "001")}}));
  EXPECT_EQ(read().text, "");
  EXPECT_THAT(read().problem, HasSubstr("is not whole: apply it again"));
  ASSERT_EQ(write_rig(*client_, keys, read(), "good").outcome, RigWritten::done);
  EXPECT_EQ(read().text, "good");
}

TEST_F(RigStoreTest, KeepsWhatANewerVersionHasAddedAndReadsNoNewerSchema) {
  ASSERT_EQ(write_rig(*client_, keys, read(), "a").outcome, RigWritten::done);
  auto pointer = nlohmann::json::parse(client_->read(keys.rig())->values.at(0).value);
  pointer["by"] = "ann";
  ASSERT_TRUE(client_->put(keys.rig(), pointer.dump()));
  ASSERT_EQ(write_rig(*client_, keys, read(), "b").outcome, RigWritten::done);
  EXPECT_EQ(read().other.at("by"), "ann");
  ASSERT_TRUE(client_->put(keys.rig(), R"({"schema":2})"));
  EXPECT_THAT(read().problem, HasSubstr("upgrade this node"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
