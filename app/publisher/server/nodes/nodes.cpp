#include "app/publisher/server/nodes/nodes.h"

#include "app/publisher/server/nodes/link.h"  // first of those with asio

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "core/error.h"

namespace campipe {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::use_awaitable;

constexpr std::uint32_t longest_header = 16 * 1024;
constexpr std::uint64_t longest_answer = 64ULL << 20U;  // a status with the graphs of all its cameras

struct Question {
  NodeTarget target;
  std::string path;
  HeaderLine who;
  Deadline deadline;
};

awaitable<Nodes::Reply> read_answer(HttpStream& stream, Deadline deadline) {
  http::response_parser<http::string_body> parser;
  parser.header_limit(longest_header);
  parser.body_limit(longest_answer);
  parser.eager(true);
  std::string unread;
  std::array<char, 64 * 1024> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): it is read into
  while (!parser.is_done()) {
    boost::system::error_code error;
    stream.tcp().expires_at(deadline);
    const std::size_t size =
        co_await stream.async_read_some(asio::buffer(chunk), asio::redirect_error(use_awaitable, error));
    if (error == asio::error::eof && parser.is_header_done()) parser.put_eof(error);
    if (error) throw boost::system::system_error(error);
    unread.append(chunk.data(), size);
    unread.erase(0, parser.put(asio::const_buffer(unread.data(), unread.size()), error));
    if (error && error != http::error::need_more) throw boost::system::system_error(error);
    if (unread.size() > longest_header) throw Error("it sends what is not HTTP");
  }
  co_return Nodes::Reply{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

awaitable<Nodes::Reply> ask(Question question) {
  const std::string whose = "node '" + question.target.node + "'";
  const auto fail = [&](const std::string& why) { return Nodes::Reply{.problem = why}; };
  try {
    const Deadline connected_by = std::min<Deadline>(question.deadline, Clock::now() + connect_patience);
    const auto stream = co_await connect_to(question.target, connected_by);
    std::string head = request_head(
        "GET", question.path, 11,
        {{"Host", question.target.address}, question.who, {"Accept", "application/json"}, {"Connection", "close"}});
    const auto sent = Clock::now();
    co_await write_all(*stream, std::move(head), question.deadline);
    Nodes::Reply reply = co_await read_answer(*stream, question.deadline);
    reply.sent = sent;
    reply.received = Clock::now();
    co_return reply;
  } catch (const NodeGone& error) {
    co_return fail(error.what());
  } catch (const boost::system::system_error& error) {
    const bool is_late = error.code() == boost::beast::error::timeout;
    co_return fail(whose + (is_late ? " does not answer in time" : " gives no answer: " + error.code().message()));
  } catch (const std::exception& error) {
    co_return fail(whose + " gives no answer: " + error.what());
  }
}

}  // namespace

class Nodes::Asker {
 public:
  Asker()
      : thread_([this] {
          ::pthread_setname_np(::pthread_self(), "nodes");
          io_.run();
        }) {}
  ~Asker() {
    io_.stop();
    thread_.join();
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  asio::io_context& io() { return io_; }

  std::future<Reply> begin(Question question) {
    auto promise = std::make_shared<std::promise<Reply>>();
    auto answer = promise->get_future();
    const auto work = [promise, question = std::move(question)]() -> awaitable<void> {
      Reply reply = co_await ask(question);
      promise->set_value(std::move(reply));
    };
    asio::co_spawn(io_, work, asio::detached);
    return answer;
  }

 private:
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_;
};

boost::asio::io_context& Nodes::io() { return asker_->io(); }

Nodes::Nodes(bool has_tls) : has_tls_(has_tls), asker_(std::make_unique<Asker>()) {}
Nodes::~Nodes() = default;

void Nodes::set_status(const nlohmann::json& status) {
  auto newest = std::make_shared<const NodePlaces>(node_places(status));
  const std::lock_guard lock(mutex_);
  places_ = std::move(newest);
}

void Nodes::set_tls(ServerTls tls) {
  const std::lock_guard lock(mutex_);
  tls_ = std::move(tls);
}

std::shared_ptr<const NodePlaces> Nodes::places() const {
  const std::lock_guard lock(mutex_);
  return places_;
}

NodeTarget Nodes::target_of(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  const auto found = places_->nodes.find(node);
  if (found == places_->nodes.end()) throw NodeGone("there is no node '" + node + "'");
  if (!found->second.here) throw NodeGone("node '" + node + "' is away");
  if (found->second.address.empty()) throw NodeGone("node '" + node + "' names no address");
  if (has_tls_ && !tls_) throw NodeGone("this node has no certificate to show to node '" + node + "' yet");
  return {node, found->second.address, tls_};
}

std::future<Nodes::Reply> Nodes::get(const std::string& node, std::string target, HeaderLine who,
                                     std::chrono::milliseconds patience) {
  try {
    return asker_->begin({target_of(node), std::move(target), std::move(who), Clock::now() + patience});
  } catch (const NodeGone& error) {
    std::promise<Reply> none;
    none.set_value({.problem = error.what()});
    return none.get_future();
  }
}

}  // namespace campipe
