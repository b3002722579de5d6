// Which transport a link between two nodes takes.
#include <gtest/gtest.h>

#include "app/config/cluster_config.h"
#include "app/placement/link_choice.h"

namespace campipe {
namespace CAMPIPE_FILE {

using Transports = std::vector<LinkTransport>;
constexpr auto zeromq = LinkTransport::zeromq;
constexpr auto ucx = LinkTransport::ucx;
const Transports both{ucx, zeromq};  // of a machine with UCX

// Of a node whose machine has UCX.
LinkOptions node(const Transports& asked, bool rdma = false, bool encrypt = false) {
  return link_options({.encrypt = encrypt, .ports = "", .transports = asked}, both, rdma);
}

TEST(LinkOptions, AreWhatIsAskedForAndThere) {
  EXPECT_EQ(link_options({.encrypt = false, .ports = "", .transports = {}}, {zeromq}, false),
            (LinkOptions{{zeromq}, false, true}));
  EXPECT_EQ(node({}, true), (LinkOptions{both, true, true}));
  EXPECT_EQ(node({zeromq, ucx}), (LinkOptions{{zeromq, ucx}, false, false}));
  EXPECT_EQ(link_options({.encrypt = false, .ports = "", .transports = {ucx}}, {zeromq}, false).transports,
            Transports());
}

TEST(LinkOptions, EncryptedAreWithoutUcx) { EXPECT_EQ(node({}, true, true).transports, Transports{zeromq}); }

TEST(LinkTransport, OfAutoIsUcxWhereBothHaveRdma) {
  EXPECT_EQ(link_transport(node({}, true), node({}, true)), ucx);
  EXPECT_EQ(link_transport(node({}, true), node({}, false)), zeromq);
  EXPECT_EQ(link_transport(node({}, false), node({}, true)), zeromq);
  EXPECT_EQ(link_transport(node({}, true, true), node({}, true, true)), zeromq);
}

TEST(LinkTransport, IsTheFirstOfTheReceiverThatTheSenderHas) {
  EXPECT_EQ(link_transport(node({ucx, zeromq}), node({})), ucx);
  EXPECT_EQ(link_transport(node({zeromq, ucx}), node({ucx, zeromq})), zeromq);
  EXPECT_EQ(link_transport(node({ucx, zeromq}), node({zeromq})), zeromq);
  EXPECT_EQ(link_transport(node({}), node({ucx})), ucx) << "the sender takes nothing else";
}

TEST(LinkTransport, IsNoneWhereTheyHaveNoneInCommon) {
  EXPECT_EQ(link_transport(node({ucx}), node({zeromq})), std::nullopt);
  EXPECT_EQ(link_transport(node({}), LinkOptions()), std::nullopt) << "it does not know yet";
  EXPECT_EQ(names_of({}), "none");
  EXPECT_EQ(names_of(both), "ucx, zeromq");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
