// An answer that goes on for as long as there is something to send. Of the serving thread. Only for the files that use
// Boost.Beast.
#pragma once

#include "app/publisher/server/http/connection.h"  // first of those with asio

namespace campipe {

// Answers a request that asks for the head alone. False: this one asks for the rest too, and nothing was sent.
boost::asio::awaitable<bool> send_head_alone(HttpConnection& connection, HttpConnection::Exchange& exchange,
                                             const HttpAnswer& head);

class EndlessAnswer {
 public:
  // Both must outlive it. The connection has no other use afterwards.
  EndlessAnswer(HttpConnection& connection, HttpConnection::Exchange& exchange);

  // The head: status, type and headers of `answer`, whose body is not sent. These three throw
  // boost::system::system_error where the client is gone, or takes nothing for HttpLimits::send.
  boost::asio::awaitable<void> begin(const HttpAnswer& answer);
  boost::asio::awaitable<void> put(boost::asio::const_buffer bytes);  // not empty: that would be the end
  boost::asio::awaitable<void> end();
  // A client that leaves while nothing is sent is noticed only here.
  [[nodiscard]] bool is_gone();

 private:
  HttpConnection& connection_;
  HttpConnection::Exchange& exchange_;
  const bool chunked_;
};

}  // namespace campipe
