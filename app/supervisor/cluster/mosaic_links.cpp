#include "app/supervisor/cluster/mosaic_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/config/rig_config.h"
#include "app/control/messages/links.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/shared_links.h"
#include "app/placement/mosaic_plan.h"
#include "app/supervisor/life/mosaic_cells.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"

namespace campipe {
namespace {

// Its node was told that the cell's frames come from there: before, it would take no ring of the edge. Not so as long
// as the camera itself is still here.
bool is_known_to_mosaic(const Camera& mosaic, const CameraEdge& edge) {
  const unsigned cell = edge.cell->cell;
  return cell < mosaic.cells.size() && mosaic.cells[cell].edge == edge.id;
}

}  // namespace

MosaicLinks::MosaicLinks(RigState& rig, Processes& processes, CameraSetup& setup, RingRouter& rings,
                         const ClusterRig& cluster, const ClusterControl& control, LinkExchange& exchange)
    : rig_(rig),
      processes_(processes),
      setup_(setup),
      rings_(rings),
      cluster_(cluster),
      control_(control),
      exchange_(exchange) {}

template <typename Do>
void MosaicLinks::for_each_link(const Do& act) const {
  for (Camera& camera : rig_.cameras.all()) {
    for (CameraEdge& edge : camera.edges) {
      if (edge.link) act(camera, edge);
    }
  }
}

void MosaicLinks::follow() {
  if (!cluster_.is_on()) return;
  wanted_ = wanted();
  end_others();
  stop_unknown();
  for (const Wanted& link : wanted_) add(link);
  tell();
  share();
}

// Both nodes find the same ones. A node that is away has none.
std::vector<MosaicLinks::Wanted> MosaicLinks::wanted() const {
  std::vector<Wanted> links;
  if (rig_.phase != RunPhase::running) return links;
  const ClusterState& state = control_.seen();
  const std::string own = node_name(*rig_.config->cluster);
  for (const CameraConfig* const mosaic : cluster_.mosaics_across_nodes()) {
    const std::string to = node_here(state, mosaic->name);
    for (unsigned cell = 0; cell < mosaic->mosaic->cells.size() && !to.empty(); ++cell) {
      const std::string& camera = mosaic->mosaic->cells[cell].camera;
      const std::string from = node_here(state, camera);
      if (from.empty() || from == to || (from != own && to != own)) continue;
      links.push_back({fmt::format("{}/{}/{}", mosaic->name, cell, camera), mosaic, cell, camera,
                       from == own ? to : from, from == own});
    }
  }
  return links;
}

const MosaicLinks::Wanted* MosaicLinks::wanted_as(const EdgeLink& link) const {
  const messages::OfferedLinks* const offered = exchange_.offered_by(link.peer);
  if (offered == nullptr || offered->key != link.peer_key) return nullptr;
  const auto found = std::ranges::find_if(wanted_, [&](const Wanted& wanted) {
    return wanted.link == link.name && wanted.peer == link.peer && wanted.sends == link.sends;
  });
  return found == wanted_.end() ? nullptr : &*found;
}

void MosaicLinks::end_others() {
  for_each_link([this](Camera& camera, CameraEdge& edge) {
    if (!edge.ending && wanted_as(*edge.link) == nullptr) end(camera, edge);
  });
}

// Its writer answers with EdgeDone: a node, or the end of the link itself.
void MosaicLinks::end(Camera& camera, CameraEdge& edge) {
  edge.ending = true;
  ManagedProcess* const links = process();
  if (edge.is_sent()) {
    const CameraNode& writer = camera.node(*edge.writer);
    edge.ended = !processes_.send_to_node(camera, writer, messages::StopEdge{{writer.id, edge.id}});
  } else {
    edge.ended = !edge.link->told || links == nullptr || !processes_.send(*links, messages::StopLink{edge.id, true});
    told_.erase(edge.id);
  }
}

// Of those that send, when they end or their camera has gone; of those that receive, when the mosaic has.
void MosaicLinks::stop_unknown() {
  ManagedProcess* const links = process();
  std::erase_if(told_, [&](const auto& told) {
    Camera* const camera = rig_.cameras.find(told.first);
    const CameraEdge* const edge = camera == nullptr ? nullptr : &camera->edge(told.first);
    const bool is_it = edge != nullptr && edge->link && edge->link->told && edge->link->name == told.second;
    if (is_it && !edge->ending) return false;
    if (links != nullptr) processes_.send(*links, messages::StopLink{told.first, false});
    return true;
  });
}

void MosaicLinks::add(const Wanted& link) {
  bool is_there = false;
  for_each_link([&](const Camera&, const CameraEdge& edge) {
    is_there = is_there || (edge.link->name == link.link && edge.link->sends == link.sends);
  });
  const messages::OfferedLinks* const offered = exchange_.offered_by(link.peer);
  if (is_there || offered == nullptr) return;
  if (link.sends) {
    add_sending(link, *offered);
  } else {
    add_receiving(link, *offered);
  }
}

void MosaicLinks::add_sending(const Wanted& link, const messages::OfferedLinks& offered) {
  Camera* const camera = rig_.cameras.find(link.camera);
  const auto* const its = find_link(offered, link.link);
  if (!exchange_.transport_with(link.peer, offered, true)) return;
  if (camera == nullptr || its == nullptr || camera->is_mosaic() || !may_be_shown(*camera)) return;
  const CameraNode& writer = camera->nodes.back();
  const MosaicConfig& mosaic = *link.mosaic->mosaic;
  CameraEdge edge;
  edge.writer = writer.id;
  edge.filters = cell_filters(*camera->config, writer.first_filter, mosaic, link.cell);
  edge.memory = cell_memory(*camera->config, processes_.of(writer.process()).place.gpu, {}, rig_.machine.devices);
  edge.cell = CellPlace{no_camera, link.cell};
  edge.link = EdgeLink{.name = link.link,
                       .mosaic = link.mosaic->name,
                       .camera = link.camera,
                       .peer = link.peer,
                       .peer_key = offered.key,
                       .sends = true,
                       .port = its->port,
                       .transport = its->transport};
  edge.rate = mosaic.rate;
  EdgeReader& seat = edge.readers.emplace_back();
  seat.node = no_node;
  seat.process = link_process;
  const CameraEdge& added = rig_.cameras.add_edge(*camera, std::move(edge));
  setup_.send_edge(*camera, added);
}

void MosaicLinks::add_receiving(const Wanted& link, const messages::OfferedLinks& offered) {
  Camera* const mosaic = rig_.cameras.find(link.mosaic->name);
  const auto transport = exchange_.transport_with(link.peer, offered, false);
  if (mosaic == nullptr || !runs_as_mosaic(*mosaic) || mosaic->move || !transport) return;
  CameraEdge edge;
  edge.cell = CellPlace{mosaic->id, link.cell};
  edge.link = EdgeLink{.name = link.link,
                       .mosaic = link.mosaic->name,
                       .camera = link.camera,
                       .peer = link.peer,
                       .peer_key = offered.key,
                       .transport = *transport};
  EdgeReader& seat = edge.readers.emplace_back();
  seat.node = mosaic->nodes.front().id;
  seat.process = mosaic->nodes.front().process();
  rig_.cameras.add_edge(*mosaic, std::move(edge));
}

// What the process does not know, or what has changed. A reader that died is not followed by another one before all of
// it is out of the ring: then it is known what it has taken.
void MosaicLinks::tell() {
  ManagedProcess* const links = process();
  if (links == nullptr) return;
  for_each_link([&](Camera& camera, CameraEdge& edge) {
    if (edge.ending) return;
    if (edge.is_sent()) {
      tell_sending(camera, edge, *links);
    } else if (!edge.link->told && is_known_to_mosaic(camera, edge)) {
      tell_receiving(edge, *links);
    }
  });
}

void MosaicLinks::tell_sending(Camera& camera, CameraEdge& edge, ManagedProcess& process) {
  EdgeLink& link = *edge.link;
  EdgeReader& reader = edge.readers.front();
  const messages::OfferedLinks* const offered = exchange_.offered_by(link.peer);
  const auto* const its = offered != nullptr ? find_link(*offered, link.name) : nullptr;
  const bool moved = its != nullptr && (its->port != link.port || its->transport != link.transport);
  if ((link.told && !moved) || reader.unsettled) return;
  if (its != nullptr) {
    link.port = its->port;
    link.transport = its->transport;
  }
  const std::string address = exchange_.address_of(link.peer, link.port);
  if (address.empty()) return;
  const ReaderFrames frames = edge.frames_for(reader);
  const bool is_new = !std::exchange(link.told, true);
  told_[edge.id] = link.name;
  processes_.send(process,
                  messages::SendLink{edge.id, link.name, address, link.peer_key, frames.meant - frames.recalled,
                                     exchange_.encrypts(), link.transport, link.again});
  if (is_new) rings_.offer(camera, edge, reader);
}

void MosaicLinks::tell_receiving(CameraEdge& edge, ManagedProcess& process) {
  EdgeLink& link = *edge.link;
  link.told = true;
  told_[edge.id] = link.name;
  messages::ReceiveLink message = exchange_.receive(edge.id, link.name, link.peer_key, link.transport);
  message.queue_size = edge.queue_size(*rig_.cameras.find(edge.id)->config);
  message.epoch = edge.epoch + 1;
  message.base = edge.published();
  message.again = link.again;
  processes_.send(process, message);
  link.again = true;
}

void MosaicLinks::share() {
  for_each_link([&](const Camera&, const CameraEdge& edge) {
    if (edge.is_received() && edge.link->port != 0 && !edge.ending)
      exchange_.offer({edge.link->name, edge.link->port, edge.link->transport});
  });
  for (const Wanted& link : wanted_) exchange_.ask(link.peer);
}

ManagedProcess* MosaicLinks::process() const {
  const auto found = std::ranges::find(processes_.all(), ProcessKind::link, &ManagedProcess::kind);
  return found != processes_.all().end() && found->child ? &*found : nullptr;
}

// For who reads what was received that is a writer that is gone.
void MosaicLinks::on_death() {
  told_.clear();
  for_each_link([](const Camera&, CameraEdge& edge) {
    edge.link->again = edge.link->again || edge.link->told;
    edge.link->told = false;
    if (edge.is_sent()) {
      EdgeReader& reader = edge.readers.front();
      if (edge.newest && reader.seat) edge.newest->observer.mark_reader_gone(*reader.seat);
      reader.unsettled = true;
    } else {
      if (edge.newest) edge.newest->observer.mark_writer_gone();
      edge.link->port = 0;
      edge.ended = edge.ended || edge.ending;
    }
  });
}

nlohmann::json MosaicLinks::status() const {
  nlohmann::json links = nlohmann::json::array();
  for_each_link([&](const Camera&, const CameraEdge& edge) {
    const LinkCounts& counts = rig_.page.link(edge.id, link_process).counts;
    const EdgeLink& link = *edge.link;
    links.push_back(link_status({{"mosaic", link.mosaic}, {"camera", link.camera}, {"part", ""}}, link.peer,
                                edge.is_sent(), link.transport, exchange_.encrypts(),
                                link.told && counts.connected == 1, counts));
  });
  return links;
}

}  // namespace campipe
