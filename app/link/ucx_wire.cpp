#include "app/link/ucx_wire.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "app/link/message.h"
#include "app/link/network_devices.h"
#include "app/link/ucx_library.h"
#include "core/error.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;

constexpr unsigned message_id = 1;
constexpr std::size_t most_peers = 16;  // of which one is no stranger
constexpr milliseconds longest_close{100};

Error ucx_error(const std::string& what, ucs_status_t status) {
  return Error(what + ": UCX's status " + std::to_string(static_cast<int>(status)));
}

ucs_sock_addr_t ucs_address(const SocketAddress& address) { return {address.get(), address.size}; }

class UcxWire final : public LinkWire {
 public:
  explicit UcxWire(const UcxSettings& settings)
      : ucx_(ucx_library()), listens_(settings.listens), address_(settings.address) {
    static_cast<void>(parse_socket_address(address_));
    try {
      if (listens_) UcxWire::open();
    } catch (...) {
      destroy_context();
      throw;
    }
  }
  ~UcxWire() override {
    UcxWire::close(milliseconds(0));
    destroy_context();
  }
  UcxWire(const UcxWire&) = delete;
  UcxWire& operator=(const UcxWire&) = delete;

  [[nodiscard]] bool listens() const override { return listens_; }
  [[nodiscard]] std::string address() const override { return address_; }

  void open() override {
    std::string devices = devices_to_use();
    if (devices != devices_ && peers_.empty() && listener_ == nullptr) destroy_context();
    if (context_ == nullptr) create_context(std::move(devices));
    if (worker_ == nullptr) create_worker();
    if (listens_ && listener_ == nullptr) listen();
    if (!listens_ && peers_.empty()) connect();
  }

  void close(milliseconds linger) override {
    if (worker_ == nullptr) return;
    inbox_ = nullptr;
    if (linger.count() > 0) flush(Clock::now() + linger);
    const auto leaving = std::exchange(peers_, {});  // which the library may still report on
    std::vector<void*> requests;
    for (const auto& peer : leaving) add_request(requests, close_by_force(*peer));
    const auto is_done = [&] { return sending_.empty() && std::ranges::all_of(arriving_, &Arriving::done); };
    const Deadline deadline = Clock::now() + longest_close;
    while (!(are_complete(requests) && is_done()) && Clock::now() < deadline) wait_until(deadline);
    // What does not end is ended with the worker: nothing is written to memory that is the caller's again.
    for (void* const request : requests) ucx_.ucp_request_free(request);
    if (!is_done()) destroy_worker();
    sending_.clear();
    arriving_.clear();
  }

  bool send(Peer peer, Bytes head, Body body) override {
    const auto to = std::ranges::find(peers_, peer, &Remote::number);
    if (to == peers_.end() || (*to)->failed) return false;
    Sending& sending = sending_.emplace_back();
    sending.wire = this;
    sending.head.assign(head.begin(), head.end());
    sending.owner = std::move(body.owner);
    sending.self = std::prev(sending_.end());
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.cb.send = &UcxWire::on_sent;
    param.user_data = &sending;
    param.flags = UCP_AM_SEND_FLAG_REPLY | (body.bytes.empty() ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV);
    void* const request = ucx_.ucp_am_send_nbx((*to)->endpoint, message_id, sending.head.data(), sending.head.size(),
                                               body.bytes.data(), body.bytes.size(), &param);
    if (UCS_PTR_IS_PTR(request)) return true;
    sending_.erase(sending.self);
    return !UCS_PTR_IS_ERR(request);
  }

  std::optional<Arrival> receive(Deadline deadline, Inbox& inbox) override {
    inbox_ = &inbox;
    for (;;) {
      current_.reset();
      while (worker_ != nullptr && ucx_.ucp_worker_progress(worker_) != 0) {
      }
      if (!arriving_.empty() && arriving_.front().done) {
        current_ = std::move(arriving_.front());
        arriving_.pop_front();
        return Arrival{current_->peer, current_->head, current_->body, current_->placed, current_->gone};
      }
      if (const auto peer = failed_peer()) return Arrival{.peer = *peer, .head = {}, .gone = true};
      if (worker_ == nullptr || Clock::now() >= deadline) return std::nullopt;
      wait_until(deadline);
    }
  }

 private:
  struct Remote {
    UcxWire* wire = nullptr;
    Peer number = 0;
    ucp_ep_h endpoint = nullptr;
    bool failed = false;
    bool reported = false;
  };
  struct Sending {
    UcxWire* wire = nullptr;
    std::vector<std::uint8_t> head;  // read until it has left
    std::shared_ptr<const void> owner;
    std::list<Sending>::iterator self;
  };
  struct Arriving {
    Peer peer = 0;
    std::vector<std::uint8_t> head;  // empty: no message
    std::size_t body = 0;
    bool placed = false;
    bool gone = false;
    bool done = false;
  };

  // UCX would use all interfaces that it finds, and lose the connection where one of them goes. Empty: any.
  [[nodiscard]] std::string devices_to_use() const {
    const SocketAddress address = parse_socket_address(address_);
    std::string devices = listens_ ? interface_with(address) : interface_towards(address);
    if (devices.empty()) return devices;
    for (const std::string& port : rdma_ports()) devices += "," + port;
    return devices;
  }

  void create_context(std::string devices) {
    ucp_config_t* config = nullptr;
    auto status = ucx_.ucp_config_read(nullptr, nullptr, &config);
    if (status != UCS_OK) throw ucx_error("UCX's settings (UCX_…) cannot be read", status);
    const std::unique_ptr<ucp_config_t, decltype(ucx_.ucp_config_release)> owner(config, ucx_.ucp_config_release);
    const bool is_given = std::getenv("UCX_NET_DEVICES") != nullptr;  // by the user
    if (!is_given && !devices.empty()) status = ucx_.ucp_config_modify(config, "NET_DEVICES", devices.c_str());
    if (status != UCS_OK) throw ucx_error("UCX cannot be restricted to " + devices, status);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    status = ucx_.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
    if (status != UCS_OK) throw ucx_error("UCX does not start", status);
    devices_ = std::move(devices);
  }

  void destroy_context() {
    destroy_worker();
    if (context_ != nullptr) ucx_.ucp_cleanup(std::exchange(context_, nullptr));
  }

  void create_worker() {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SINGLE;
    auto status = ucx_.ucp_worker_create(context_, &params, &worker_);
    if (status != UCS_OK) throw ucx_error("UCX has no worker", status);
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
    handler.id = message_id;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = &UcxWire::on_message;
    handler.arg = this;
    status = ucx_.ucp_worker_set_am_recv_handler(worker_, &handler);
    if (status == UCS_OK) status = ucx_.ucp_worker_get_efd(worker_, &wakeup_);
    if (status == UCS_OK) return;
    destroy_worker();
    throw ucx_error("UCX's worker cannot be waited for", status);
  }

  void destroy_worker() {
    if (listener_ != nullptr) ucx_.ucp_listener_destroy(std::exchange(listener_, nullptr));
    if (worker_ != nullptr) ucx_.ucp_worker_destroy(std::exchange(worker_, nullptr));
  }

  void listen() {
    const SocketAddress at = parse_socket_address(address_);
    ucp_listener_params_t params{};
    params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    params.sockaddr = ucs_address(at);
    params.conn_handler = {&UcxWire::on_connection, this};
    auto status = ucx_.ucp_listener_create(worker_, &params, &listener_);
    if (status != UCS_OK) throw ucx_error("cannot listen at " + address_, status);
    ucp_listener_attr_t attributes{};
    attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
    status = ucx_.ucp_listener_query(listener_, &attributes);
    if (status != UCS_OK) throw ucx_error("no address is known", status);
    address_ = address_.substr(0, address_.rfind(':') + 1) + std::to_string(port_of(attributes.sockaddr));
  }

  void connect() {
    const SocketAddress to = parse_socket_address(address_);
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
    params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    params.sockaddr = ucs_address(to);
    const auto status = add_peer(0, params);
    if (status != UCS_OK) throw ucx_error("cannot connect to " + address_, status);
  }

  ucs_status_t add_peer(Peer number, ucp_ep_params_t& params) {
    auto peer = std::make_unique<Remote>();
    peer->wire = this;
    peer->number = number;
    params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler = {&UcxWire::on_failure, peer.get()};
    const auto status = ucx_.ucp_ep_create(worker_, &params, &peer->endpoint);
    if (status == UCS_OK) peers_.push_back(std::move(peer));
    return status;
  }

  void* close_by_force(const Remote& peer) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    return ucx_.ucp_ep_close_nbx(peer.endpoint, &param);
  }

  // One that the library has reported, and that is not known yet. Who connects is left with one that takes nothing.
  std::optional<Peer> failed_peer() {
    const auto found = std::ranges::find_if(peers_, [](const auto& peer) { return peer->failed && !peer->reported; });
    if (found == peers_.end()) return std::nullopt;
    const Peer number = (*found)->number;
    (*found)->reported = true;
    if (listens_) {
      void* const request = close_by_force(**found);
      if (UCS_PTR_IS_PTR(request)) ucx_.ucp_request_free(request);
      peers_.erase(found);
    }
    return number;
  }

  void flush(Deadline deadline) {
    std::vector<void*> requests;
    for (const auto& peer : peers_) {
      const ucp_request_param_t param{};
      if (!peer->failed) add_request(requests, ucx_.ucp_ep_flush_nbx(peer->endpoint, &param));
    }
    while (!are_complete(requests) && Clock::now() < deadline) wait_until(deadline);
    for (void* const request : requests) ucx_.ucp_request_free(request);
  }

  static void add_request(std::vector<void*>& requests, void* request) {
    if (UCS_PTR_IS_PTR(request)) requests.push_back(request);
  }
  // Those that are, are freed.
  bool are_complete(std::vector<void*>& requests) {
    std::erase_if(requests, [this](void* request) {
      const bool is_complete = ucx_.ucp_request_check_status(request) != UCS_INPROGRESS;
      if (is_complete) ucx_.ucp_request_free(request);
      return is_complete;
    });
    return requests.empty();
  }

  // Something may have come, or it is `deadline`.
  void wait_until(Deadline deadline) {
    if (ucx_.ucp_worker_progress(worker_) != 0) return;
    if (ucx_.ucp_worker_arm(worker_) != UCS_OK) return;
    pollfd readable{wakeup_, POLLIN, 0};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left > 0) ::poll(&readable, 1, static_cast<int>(left));
  }

  Arriving& add_arrival(ucp_ep_h from, const void* head, std::size_t size) {
    const auto peer = std::ranges::find(peers_, from, &Remote::endpoint);
    Arriving& arriving = arriving_.emplace_back();
    arriving.peer = peer == peers_.end() ? 0 : (*peer)->number;
    const auto* const bytes = static_cast<const std::uint8_t*>(head);
    if (peer != peers_.end() && size <= link::largest_head) arriving.head.assign(bytes, bytes + size);
    return arriving;
  }

  static ucs_status_t on_message(void* self, const void* head, std::size_t head_size, void* data, std::size_t size,
                                 const ucp_am_recv_param_t* param) {
    auto& wire = *static_cast<UcxWire*>(self);
    const bool has_peer = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
    Arriving& arriving = wire.add_arrival(has_peer ? param->reply_ep : nullptr, head, head_size);
    arriving.body = size;
    arriving.done = true;
    if (size == 0 || arriving.head.empty() || wire.inbox_ == nullptr) return UCS_OK;
    const auto memory = wire.inbox_->place(arriving.peer, arriving.head, size);
    if (memory.size() != size) return UCS_OK;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      std::memcpy(memory.data(), data, size);
      arriving.placed = true;
      return UCS_OK;
    }
    ucp_request_param_t request{};
    request.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    request.cb.recv_am = &UcxWire::on_body;
    request.user_data = &arriving;
    arriving.done = false;
    void* const started = wire.ucx_.ucp_am_recv_data_nbx(wire.worker_, data, memory.data(), size, &request);
    if (UCS_PTR_IS_ERR(started)) arriving.done = true;
    return UCS_INPROGRESS;
  }

  static void on_body(void* request, ucs_status_t status, std::size_t size, void* data) {
    auto& arriving = *static_cast<Arriving*>(data);
    arriving.placed = status == UCS_OK && size == arriving.body;
    arriving.gone = status != UCS_OK;
    arriving.done = true;
    ucx_library().ucp_request_free(request);
  }

  static void on_sent(void* request, ucs_status_t /*status*/, void* data) {
    auto& sending = *static_cast<Sending*>(data);
    sending.wire->sending_.erase(sending.self);
    ucx_library().ucp_request_free(request);
  }

  static void on_connection(ucp_conn_request_h request, void* self) {
    auto& wire = *static_cast<UcxWire*>(self);
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
    params.conn_request = request;
    if (wire.peers_.size() >= most_peers) {
      wire.ucx_.ucp_listener_reject(wire.listener_, request);
    } else {
      wire.add_peer(++wire.newest_peer_, params);
    }
  }

  static void on_failure(void* peer, ucp_ep_h /*endpoint*/, ucs_status_t /*status*/) {
    static_cast<Remote*>(peer)->failed = true;
  }

  const UcxLibrary& ucx_;
  bool listens_;
  std::string address_;
  ucp_context_h context_ = nullptr;
  std::string devices_;  // of the context
  ucp_worker_h worker_ = nullptr;
  int wakeup_ = -1;  // the worker's
  ucp_listener_h listener_ = nullptr;
  std::vector<std::unique_ptr<Remote>> peers_;
  Peer newest_peer_ = 0;
  Inbox* inbox_ = nullptr;         // of the newest receive()
  std::list<Sending> sending_;     // until they are complete
  std::deque<Arriving> arriving_;  // whose addresses stay
  std::optional<Arriving> current_;
};

}  // namespace

std::string why_no_ucx() try {
  ucx_library();
  return {};
} catch (const Error& error) {
  return error.what();
}

std::unique_ptr<LinkWire> make_ucx_wire(const UcxSettings& settings) { return std::make_unique<UcxWire>(settings); }

}  // namespace campipe
