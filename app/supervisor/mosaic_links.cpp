#include "app/supervisor/mosaic_links.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <utility>

#include "app/config/address.h"
#include "app/config/names.h"
#include "app/control/link_keys.h"
#include "app/placement/mosaic_plan.h"
#include "app/supervisor/mosaic_cells.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::size_t longest_name = 160;
constexpr std::size_t most_links = 10'000;
constexpr unsigned highest_port = 65'535;

// "10.0.0.1" of "10.0.0.1:8443", with the brackets of IPv6.
std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

bool is_possible(const messages::OfferedLinks& offered) {
  const auto is_link = [](const messages::OfferedLinks::Link& link) {
    return !link.name.empty() && link.name.size() <= longest_name && link.port > 0 && link.port <= highest_port;
  };
  return link_key_from(offered.key) && offered.links.size() <= most_links &&
         std::ranges::all_of(offered.links, is_link);
}

// Its node was told that the cell's frames come from there: before, it would take no ring of the edge. Not so as long
// as the camera itself is still here.
bool is_known_to_mosaic(const Camera& mosaic, const CameraEdge& edge) {
  const unsigned cell = edge.cell->cell;
  return cell < mosaic.cells.size() && mosaic.cells[cell].edge == edge.id;
}

const messages::OfferedLinks::Link* offered_as(const messages::OfferedLinks& offered, const std::string& link) {
  const auto found = std::ranges::find(offered.links, link, &messages::OfferedLinks::Link::name);
  return found == offered.links.end() ? nullptr : &*found;
}

bool has(const std::vector<LinkTransport>& transports, LinkTransport transport) {
  return std::ranges::find(transports, transport) != transports.end();
}

}  // namespace

MosaicLinks::MosaicLinks(RigState& rig, Processes& processes, CameraSetup& setup, RingRouter& rings,
                         const ClusterRig& cluster, const ClusterControl& control)
    : rig_(rig), processes_(processes), setup_(setup), rings_(rings), cluster_(cluster), control_(control) {
  if (!rig_.config.cluster) return;
  LinkKey public_key;
  LinkKey secret_key;
  static_assert(crypto_box_PUBLICKEYBYTES == sizeof public_key && crypto_box_SECRETKEYBYTES == sizeof secret_key);
  if (sodium_init() < 0) throw Error("libsodium does not start");
  crypto_box_keypair(public_key.data(), secret_key.data());
  public_key_ = text_of(public_key);
  secret_key_ = text_of(secret_key);
}

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
  const std::string own = node_name(*rig_.config.cluster);
  const auto node_of = [&](const std::string& camera) {
    const auto found = state.cameras.find(camera);
    const std::string node = found == state.cameras.end() ? "" : found->second.node;
    const auto its = state.nodes.find(node);
    return its != state.nodes.end() && its->second.here ? node : "";
  };
  for (const CameraConfig* const mosaic : cluster_.mosaics_across_nodes()) {
    const std::string to = node_of(mosaic->name);
    for (unsigned cell = 0; cell < mosaic->mosaic->cells.size() && !to.empty(); ++cell) {
      const std::string& camera = mosaic->mosaic->cells[cell].camera;
      const std::string from = node_of(camera);
      if (from.empty() || from == to || (from != own && to != own)) continue;
      links.push_back({fmt::format("{}/{}/{}", mosaic->name, cell, camera), mosaic, cell, camera,
                       from == own ? to : from, from == own});
    }
  }
  return links;
}

const messages::OfferedLinks* MosaicLinks::offered_by(const std::string& node) const {
  const auto found = offered_.find(node);
  return found == offered_.end() || found->second.encrypted != encrypts() ? nullptr : &found->second;
}

const MosaicLinks::Wanted* MosaicLinks::wanted_as(const EdgeLink& link) const {
  const messages::OfferedLinks* const offered = offered_by(link.peer);
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
  const messages::OfferedLinks* const offered = offered_by(link.peer);
  if (is_there || offered == nullptr) return;
  if (link.sends) {
    add_sending(link, *offered);
  } else {
    add_receiving(link, *offered);
  }
}

void MosaicLinks::add_sending(const Wanted& link, const messages::OfferedLinks& offered) {
  Camera* const camera = rig_.cameras.find(link.camera);
  const auto* const its = offered_as(offered, link.link);
  if (camera == nullptr || its == nullptr || camera->is_mosaic() || !may_be_shown(*camera)) return;
  const CameraNode& writer = camera->nodes.back();
  const MosaicConfig& mosaic = *link.mosaic->mosaic;
  CameraEdge edge;
  edge.writer = writer.id;
  edge.filters = cell_filters(camera->config, writer.first_filter, mosaic, link.cell);
  edge.memory = cell_memory(camera->config, processes_.of(writer.process()).place.gpu, {}, rig_.machine.devices);
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
  const auto transport = transport_from(offered);
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
  const messages::OfferedLinks* const offered = offered_by(link.peer);
  const auto* const its = offered != nullptr ? offered_as(*offered, link.name) : nullptr;
  const bool moved = its != nullptr && (its->port != link.port || its->transport != link.transport);
  const auto node = control_.seen().nodes.find(link.peer);
  if ((link.told && !moved) || reader.unsettled || node == control_.seen().nodes.end()) return;
  if (its != nullptr) {
    link.port = its->port;
    link.transport = its->transport;
  }
  const ReaderFrames frames = edge.frames_for(reader);
  const bool is_new = !std::exchange(link.told, true);
  told_[edge.id] = link.name;
  processes_.send(process, messages::SendLink{
                               edge.id, link.name, fmt::format("{}:{}", host_of(node->second.address), link.port),
                               link.peer_key, frames.meant - frames.recalled, encrypts(), link.transport, link.again});
  if (is_new) rings_.offer(camera, edge, reader);
}

void MosaicLinks::tell_receiving(CameraEdge& edge, ManagedProcess& process) {
  EdgeLink& link = *edge.link;
  link.told = true;
  told_[edge.id] = link.name;
  messages::ReceiveLink message;
  message.edge = edge.id;
  message.name = link.name;
  message.host = host_of(rig_.config.cluster->address);
  if (const auto ports = parse_port_range(rig_.config.cluster->links.ports)) {
    message.first_port = ports->first;
    message.last_port = ports->last;
  }
  message.encrypted = encrypts();
  message.transport = link.transport;
  message.peer_key = link.peer_key;
  message.queue_size = edge.queue_size(rig_.cameras.find(edge.id)->config);
  message.epoch = edge.epoch + 1;
  message.base = edge.published();
  message.again = link.again;
  processes_.send(process, message);
  link.again = true;
}

void MosaicLinks::share() {
  messages::ShareLinks shares;
  shares.own.key = public_key_;
  shares.own.encrypted = encrypts();
  shares.own.transports = own_transports();
  shares.own.rdma = transports_ && transports_->rdma;
  for_each_link([&](const Camera&, const CameraEdge& edge) {
    if (edge.is_received() && edge.link->port != 0 && !edge.ending)
      shares.own.links.push_back({edge.link->name, edge.link->port, edge.link->transport});
  });
  for (const Wanted& link : wanted_) {
    if (std::ranges::find(shares.ask, link.peer) == shares.ask.end()) shares.ask.push_back(link.peer);
  }
  if (shared_ == shares || !processes_.send(processes_.publisher(), shares)) return;
  shared_ = std::move(shares);
}

void MosaicLinks::on(const messages::PeerLinks& links) {
  const bool is_asked = shared_ && std::ranges::find(shared_->ask, links.peer) != shared_->ask.end();
  if (!is_possible(links.offered)) throw BadMessage("links that cannot be");
  if (!is_asked) return;  // that was before
  messages::OfferedLinks& known = offered_[links.peer];
  if (links.offered.encrypted != encrypts() && links.offered.key != known.key)
    spdlog::error("no links to node '{}': `cluster.links.encrypt` is {} there, and {} here", links.peer,
                  links.offered.encrypted, encrypts());
  known = links.offered;
}

// UCX does not encrypt.
std::vector<LinkTransport> MosaicLinks::own_transports() const {
  if (!transports_) return {};
  const std::vector<LinkTransport>& asked = rig_.config.cluster->links.transports;
  std::vector<LinkTransport> own = asked.empty() ? transports_->usable : asked;
  std::erase_if(own, [&](LinkTransport transport) {
    return !has(transports_->usable, transport) || (transport == LinkTransport::ucx && encrypts());
  });
  return own;
}

// Nothing: it is not known yet, or there is none that both have.
std::optional<LinkTransport> MosaicLinks::transport_from(const messages::OfferedLinks& offered) const {
  if (!transports_ || offered.transports.empty()) return std::nullopt;
  const bool chooses = rig_.config.cluster->links.transports.empty();
  const bool has_rdma = transports_->rdma && offered.rdma;
  for (const LinkTransport transport : own_transports()) {
    const bool is_wanted = !chooses || transport == LinkTransport::zeromq || has_rdma;
    if (is_wanted && has(offered.transports, transport)) return transport;
  }
  return std::nullopt;
}

ManagedProcess* MosaicLinks::process() const {
  const auto found = std::ranges::find(processes_.all(), ProcessKind::link, &ManagedProcess::kind);
  return found != processes_.all().end() && found->child ? &*found : nullptr;
}

void MosaicLinks::send_setup(ManagedProcess& process) const {
  processes_.send(process, messages::LinkIdentity{public_key_, secret_key_});
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
    const std::uint64_t taken = edge.is_sent() ? counts.taken.load() : counts.settled.load();
    links.push_back({{"mosaic", edge.link->mosaic},
                     {"camera", edge.link->camera},
                     {"peer", edge.link->peer},
                     {"direction", edge.is_sent() ? "sends" : "receives"},
                     {"transport", choice_name(edge.link->transport)},
                     {"encrypted", encrypts()},
                     {"connected", edge.link->told && counts.connected == 1},
                     {"connections", counts.connections.load()},
                     {"frames", taken},
                     {"delivered", counts.delivered.load()},
                     {"dropped", counts.dropped.load()},
                     {"lost", counts.lost.load()},
                     {"bytes", counts.bytes.load()}});
  });
  return links;
}

}  // namespace campipe
