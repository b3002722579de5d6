#include "app/publisher/server/http/node_stream.h"

#include <boost/asio/detached.hpp>

#include <array>
#include <utility>

#include "app/publisher/server/http/live_messages.h"
#include "app/publisher/server/http/node_answer.h"
#include "core/url_text.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;

constexpr auto silence = std::chrono::seconds(15);  // a node says after five that it lives
constexpr std::size_t largest_message = std::size_t{64} << 20U;

}  // namespace

NodeStream::NodeStream(std::shared_ptr<HttpConnection> connection,
                       std::shared_ptr<const HttpConnection::Exchange> exchange, std::string node, std::string stream,
                       std::function<void()> ready)
    : connection_(std::move(connection)),
      exchange_(std::move(exchange)),
      node_(std::move(node)),
      stream_(std::move(stream)),
      ready_(std::move(ready)),
      taken_(std::make_shared<HttpEvent>(connection_->shared().io)) {}

void NodeStream::start() {
  asio::co_spawn(
      *connection_->shared().io, [self = shared_from_this()] { return self->run(); }, asio::detached);
}

bool NodeStream::next(LiveMessage& message) {
  if (!waiting_) return false;
  message = std::move(*waiting_);
  waiting_.reset();
  taken_->wake();
  return true;
}

void NodeStream::close() {
  closed_ = true;
  if (link_) link_->tcp().close();
  taken_->wake();
}

awaitable<void> NodeStream::run() {
  try {
    co_await read();
  } catch (const NodeGone& error) {
    problem_ = error.what();
  } catch (const std::exception&) {
    problem_ = "node '" + node_ + "' sends no more of it";
  }
  link_.reset();
  over_ = true;
  ready_();
}

awaitable<void> NodeStream::read() {
  HttpShared& shared = connection_->shared();
  NodeRequest request{"/live?streams=" + percent_encoded(stream_), 10};
  const NodeTarget target = shared.cluster.nodes->target_of(node_);
  NodeAnswer answer = co_await ask_node(shared, target, *exchange_, std::move(request));
  if (answer.head.result_int() != 200)
    throw NodeGone("node '" + node_ + "' answers with status " + std::to_string(answer.head.result_int()));
  link_ = std::move(answer.link);
  std::string bytes = std::move(answer.unread);
  while (!closed_) {
    co_await fill(*link_, bytes, live_head_size);
    const LiveHead head = read_live_head(bytes);
    if (head.size > largest_message) throw NodeGone("node '" + node_ + "' sends what is no live video");
    co_await fill(*link_, bytes, live_head_size + head.size);
    const auto begin = bytes.begin() + live_head_size;
    const auto end = begin + static_cast<std::ptrdiff_t>(head.size);
    if (head.size > 0 && head.kind == static_cast<std::size_t>(LiveKind::text))
      waiting_ = {std::string(begin, end), nullptr};
    if (head.size > 0 && head.kind == static_cast<std::size_t>(LiveKind::bytes))
      waiting_ = {std::string(), std::make_shared<const std::vector<std::uint8_t>>(begin, end)};
    bytes.erase(0, live_head_size + head.size);
    if (waiting_) ready_();
    while (waiting_ && !closed_) co_await taken_->wait_until(Clock::time_point::max());
  }
}

awaitable<void> NodeStream::fill(HttpStream& link, std::string& bytes, std::size_t size) {
  std::array<char, 65536> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  while (bytes.size() < size) {
    link.tcp().expires_after(silence);
    const std::size_t got = co_await link.async_read_some(asio::buffer(chunk), use_awaitable);
    bytes.append(chunk.data(), got);
  }
}

}  // namespace campipe
