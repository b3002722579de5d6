// Every message of every direction: comes back as it was sent; one that lacks a field or has one of another type is its
// sender's error, which names the field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "app/control/message_dispatch.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/from_source.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/link_process.h"
#include "app/control/messages/load.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/setup.h"
#include "app/control/messages/to_master.h"
#include "app/control/messages/to_publisher.h"
#include "app/control/messages/to_source.h"
#include "app/control/messages/to_worker.h"
#include "app/probe/probe_messages.h"
#include "tests/unit/some_cluster.h"

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;

template <typename M>
Message sent(const M& message) {
  Message sent{std::string(M::type), json::parse(write_message(message).dump()), {}, 0, false};
  sent.fds.resize(descriptors_of<M>().least);
  return sent;
}

template <typename M>
std::string refusal(const json& body) {
  Message message{std::string(M::type), body, {}, 0, false};
  message.fds.resize(descriptors_of<M>().least);
  try {
    read_message<M>(message);
  } catch (const BadMessage& error) {
    return error.what();
  }
  return "";
}

template <typename M>
void check_message() {
  SCOPED_TRACE(std::string(M::type));
  const json body = write_message(M());
  Message message = sent(M());
  EXPECT_EQ(write_message(read_message<M>(message)), body);
  for (const auto& [key, value] : body.items()) {
    json without = body;
    without.erase(key);
    EXPECT_THAT(refusal<M>(without), HasSubstr(key + " is missing"));
    if (value.is_null()) continue;  // JSON that is passed on, or nothing of an optional
    json other = body;
    other[key] = value.is_array() ? json(1) : json::array({"another type"});
    EXPECT_THAT(refusal<M>(other), HasSubstr("'" + std::string(M::type) + "': " + key));
  }
  for (const json& none : {json(), json(1), json::array()}) EXPECT_NE(refusal<M>(none), "");
  Message crowded = sent(M());
  crowded.fds.resize(descriptors_of<M>().most + 1);
  EXPECT_THROW(read_message<M>(crowded), BadMessage);
}

template <typename... M>
void check_list(MessageList<M...>) {
  (check_message<M>(), ...);
  const std::set<std::string_view> types{M::type...};
  EXPECT_EQ(types.size(), sizeof...(M)) << "two messages of one direction have the same type";
}

TEST(Messages, ComeBackAsTheyWereSent) {
  check_message<messages::Setup>();
  check_list(messages::ToSource());
  check_list(messages::ToMaster());
  check_list(messages::ToWorker());
  check_list(messages::ToPublisher());
  check_list(messages::FromSource());
  check_list(messages::FromMaster());
  check_list(messages::FromWorker());
  check_list(messages::FromPublisher());
  check_list(messages::ToLoadProcess());
  check_list(messages::FromLoadProcess());
  check_list(messages::ToCluster());
  check_list(messages::FromCluster());
  check_list(messages::FromProbe());
  check_message<messages::ReadShared>();
  check_message<messages::SharedRead>();
}

TEST(Messages, CarryAllOfAPlacement) {
  messages::EncodedOutput output;
  Placement& placement = output.placement;
  placement.decode_gpu.gpu_uuid.fill(1);
  placement.decode_cpus = {1, 2};
  placement.memory = MemoryKind::cuda_legacy;
  placement.ready = ReadySignal::timeline;
  placement.gpu.gpu_uuid.fill(2);
  placement.gpu.kind = Device::Kind::mig;
  placement.hardware_encoder = true;
  placement.encode_cores = 2.5;
  messages::RunNode camera;
  camera.outputs = {output};
  Message message = sent(camera);
  const Placement back = read_message<messages::RunNode>(message).outputs.at(0).placement;
  EXPECT_EQ(back.decode_gpu, placement.decode_gpu);
  EXPECT_EQ(back.decode_cpus, placement.decode_cpus);
  EXPECT_EQ(back.memory, placement.memory);
  EXPECT_EQ(back.ready, placement.ready);
  EXPECT_EQ(back.gpu, placement.gpu);
  EXPECT_EQ(back.hardware_encoder, placement.hardware_encoder);
  EXPECT_EQ(back.encode_cores, placement.encode_cores);
}

TEST(Messages, CarryAllOfACluster) {
  const messages::ClusterSeen seen{test::some_cluster()};
  Message message = sent(seen);
  EXPECT_EQ(read_message<messages::ClusterSeen>(message).state, seen.state);
  json body = write_message(seen);
  body["state"]["nodes"]["west"]["capacity"]["cores"] = "many";
  EXPECT_THAT(refusal<messages::ClusterSeen>(body), HasSubstr("state.nodes.west.capacity.cores must be a number"));
  body["state"]["nodes"] = json::array();
  EXPECT_THAT(refusal<messages::ClusterSeen>(body), HasSubstr("state.nodes must be an object"));
}

TEST(Messages, NameThePlaceOfWhatIsWrong) {
  messages::RunNode camera;
  camera.outputs.resize(2);
  json body = write_message(camera);
  body["outputs"][1]["placement"]["gpu"] = "GPU-none";
  EXPECT_THAT(refusal<messages::RunNode>(body), HasSubstr("'node': outputs[1].placement.gpu must be"));
}

TEST(Messages, HoldNumbersWithinTheirTypes) {
  for (const json& camera : std::vector<json>{-1, 1.5, "1", nullptr, std::uint64_t{1} << 32U})
    EXPECT_THAT(refusal<messages::StopCamera>({{"camera", camera}}), HasSubstr("camera must be an integer")) << camera;
  json ring = write_message(messages::FrameRing());
  ring["epoch"] = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(refusal<messages::FrameRing>(ring), "");
  for (const int kind : {-1, 5, 255, 256}) {
    ring["memory"] = kind;
    EXPECT_THAT(refusal<messages::FrameRing>(ring), HasSubstr("memory")) << kind;
  }
}

TEST(Dispatch, CallsWithTheMessageOfItsTypeAndItsDescriptors) {
  Message message = sent(messages::PacketRing{OutputId(3), 7, {}});
  bool called = false;
  const auto receive = [&]<typename M>([[maybe_unused]] M& read, [[maybe_unused]] auto&... fds) {
    called = true;
    if constexpr (std::is_same_v<M, messages::PacketRing>) {
      EXPECT_EQ(read.output, OutputId(3));
      EXPECT_EQ(read.epoch, 7U);
      EXPECT_EQ(sizeof...(fds), 1U);
    } else {
      ADD_FAILURE() << M::type;
    }
  };
  dispatch(messages::FromWorker(), message, receive);
  EXPECT_TRUE(called);
}

TEST(Dispatch, RefusesWhatIsNotOfItsList) {
  for (const char* type : {"setup", "reload", "", "no such message"}) {
    Message message{type, json::object(), {}, 0, false};
    EXPECT_THROW(dispatch(messages::FromWorker(), message, [](auto&, auto&...) { FAIL(); }), BadMessage) << type;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
