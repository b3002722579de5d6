#include "app/publisher/server/rtsp/server.h"

#include <gst/rtsp-server/rtsp-server.h>
#include <sched.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <set>
#include <string>
#include <thread>

#include "app/control/descriptor_limit.h"
#include "app/publisher/server/rtsp/auth.h"
#include "app/publisher/server/rtsp/clients.h"
#include "app/publisher/server/rtsp/door.h"
#include "app/publisher/server/rtsp/gst_handles.h"
#include "app/publisher/server/rtsp/listener.h"
#include "app/publisher/server/rtsp/media.h"
#include "app/publisher/server/rtsp/relays.h"
#include "app/publisher/server/server_tls.h"
#include "core/c_callback.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr guint watch_ms = 250;
constexpr guint most_sessions = 1000;

using Work = std::function<void()>;

void call_on(GMainContext* context, GSource* made, GSourceFunc call, Work work) {
  const GSourcePtr source(made);
  g_source_set_callback(source.get(), call, new Work(std::move(work)),
                        c_callback<[](gpointer data) { delete static_cast<Work*>(data); }>);
  g_source_attach(source.get(), context);
}

// Once, on the thread that runs `context`, later.
void run_on(GMainContext* context, Work work) {
  call_on(context, g_idle_source_new(),
          c_callback<[](gpointer data) -> gboolean {
            (*static_cast<Work*>(data))();
            return G_SOURCE_REMOVE;
          },
                     G_SOURCE_REMOVE>,
          std::move(work));
}

// Runs again and again, until the context ends.
void repeat(GMainContext* context, GSource* timer, Work work) {
  call_on(context, timer,
          c_callback<[](gpointer data) -> gboolean {
            (*static_cast<Work*>(data))();
            return G_SOURCE_CONTINUE;
          },
                     G_SOURCE_CONTINUE>,
          std::move(work));
}

RtspLimits within_descriptors(RtspLimits limits) {
  limits.connections = most_viewers(limits.connections);
  return limits;
}

}  // namespace

class RtspServer::Implementation {
 public:
  Implementation(const ServerConfig& config, RigView& rig, Access& access, std::set<std::string> streams,
                 const RtspLimits& limits, ServerTls tls, Nodes* nodes)
      : access_(access),
        limits_(limits),
        socket_(listen_for_rtsp(config.rtsp_address)),
        tls_(std::move(tls)),
        context_(g_main_context_new()),
        loop_(g_main_loop_new(context_.get(), FALSE)),
        media_{rig,
               {},
               {},
               [this](auto readers) { dismiss(std::move(readers)); },
               tls_ != nullptr,
               config.rtsp_timestamps},
        relays_(nodes != nullptr ? std::make_unique<RtspRelays>(*nodes, access, limits.of_address) : nullptr),
        streams_(std::move(streams)) {
    if (config.tls && !tls_) throw Error("RTSP cannot be served: its certificate was not read");
    media_.relays = relays_.get();
    thread_ = std::jthread([this] { run(); });
  }

  ~Implementation() {
    run_on(context_.get(), [this] { g_main_loop_quit(loop_.get()); });
    thread_.join();
  }

  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  void add(const std::string& stream) {
    run_on(context_.get(), [this, stream] {
      if (streams_.insert(stream).second && mounts_) mount(stream);
    });
  }

  void let_in(UniqueFd connection, const Identity& identity, const std::string& address) {
    const auto shared = std::make_shared<UniqueFd>(std::move(connection));
    run_on(context_.get(), [this, shared, identity, address] {
      if (door_) door_->let_in(std::move(*shared), identity, address);
    });
  }

  void remove(const std::string& stream) {
    run_on(context_.get(), [this, stream] {
      streams_.erase(stream);
      if (mounts_) gst_rtsp_mount_points_remove_factory(mounts_.get(), ("/" + stream).c_str());
    });
  }

  void renew_certificate(ServerTls tls) {
    run_on(context_.get(), [this, renewed = std::move(tls)] {
      if (door_) door_->renew(renewed);
    });
  }

  [[nodiscard]] nlohmann::json viewers() const {
    nlohmann::json viewers = nlohmann::json::array();
    for (const auto& readers : media_.medias.all()) readers->add_to(viewers);
    return viewers;
  }

 private:
  void run();
  void serve();
  void mount(const std::string& stream);
  void dismiss(std::shared_ptr<RtspReaders> readers);
  [[nodiscard]] bool load_gstreamer() const;

  Access& access_;
  const RtspLimits limits_;
  GObjectPtr<GSocket> socket_;
  ServerTls tls_;  // at first
  GMainContextPtr context_;
  GMainLoopPtr loop_;
  RtspMediaContext media_;
  const std::unique_ptr<RtspRelays> relays_;  // null: of no cluster
  std::set<std::string> streams_;             // the thread's, once it runs
  GObjectPtr<GstRTSPMountPoints> mounts_;     // likewise
  std::unique_ptr<RtspDoor> door_;            // likewise
  std::jthread thread_;
};

bool RtspServer::Implementation::load_gstreamer() const {
  // Plugins are looked at here, rather than in a process that is forked from this one with all its threads.
  gst_registry_fork_set_enabled(FALSE);
  // What its libraries log is for debugging; what matters is logged by us.
  g_log_set_default_handler(c_callback<[](const gchar* domain, GLogLevelFlags, const gchar* message, gpointer) {
                              spdlog::debug("{}: {}", domain == nullptr ? "glib" : domain, message);
                            }>,
                            nullptr);
  GError* error = nullptr;
  if (gst_init_check(nullptr, nullptr, &error) == FALSE) {
    const GErrorPtr owner(error);
    spdlog::error("no RTSP: GStreamer does not start: {}", error == nullptr ? "unknown error" : error->message);
    return false;
  }
  const std::string missing = missing_rtsp_elements();
  if (missing.empty()) return true;
  spdlog::error(
      "no RTSP: GStreamer has no {}; install the packages gstreamer1.0-plugins-base, gstreamer1.0-plugins-good and "
      "gstreamer1.0-plugins-bad",
      missing);
  return false;
}

void RtspServer::Implementation::run() {
  // A working directory of its own: plugins change it while they are looked at, and recordings may be written
  // meanwhile.
  if (::unshare(CLONE_FS) != 0) spdlog::warn("rtsp: {}", system_error("unshare", errno).what());
  g_main_context_push_thread_default(context_.get());
  if (load_gstreamer()) {
    serve();
  } else {
    g_socket_close(socket_.get(), nullptr);
    g_main_loop_run(loop_.get());
  }
  g_main_context_pop_thread_default(context_.get());
}

void RtspServer::Implementation::serve() {
  RtspLogins logins(access_, [this] { g_main_context_wakeup(context_.get()); });
  const GObjectPtr<GstRTSPServer> server(gst_rtsp_server_new());
  const GObjectPtr<GstRTSPSessionPool> sessions(gst_rtsp_server_get_session_pool(server.get()));
  gst_rtsp_session_pool_set_max_sessions(sessions.get(), most_sessions);
  // All clients are served by this thread; those who play are sent to by threads of their medias.
  const GObjectPtr<GstRTSPThreadPool> threads(gst_rtsp_server_get_thread_pool(server.get()));
  gst_rtsp_thread_pool_set_max_threads(threads.get(), 0);
  const GObjectPtr<GstRTSPAuth> auth = make_rtsp_auth(logins, login_of, let_in_of, tls_ != nullptr);
  gst_rtsp_server_set_auth(server.get(), auth.get());
  mounts_.reset(gst_rtsp_server_get_mount_points(server.get()));
  for (const std::string& stream : streams_) mount(stream);
  RtspClients clients(server.get(), sessions.get(), media_, access_, within_descriptors(limits_));
  door_ = std::make_unique<RtspDoor>(socket_.get(), server.get(), clients, logins, context_.get(), tls_);
  repeat(context_.get(), g_timeout_source_new(watch_ms), [this, &clients] {
    for (const auto& readers : media_.medias.all()) readers->cut_late();
    clients.look_after();
  });
  spdlog::info("RTSP at {}://{}", tls_ ? "rtsps" : "rtsp", local_address(socket_.get()));

  g_main_loop_run(loop_.get());

  door_.reset();
  clients.close_all();
  while (g_main_context_iteration(context_.get(), FALSE) != FALSE) {
  }
  mounts_.reset();
}

void RtspServer::Implementation::mount(const std::string& stream) {
  // The mount points own it.
  gst_rtsp_mount_points_add_factory(mounts_.get(), ("/" + stream).c_str(), make_rtsp_factory(stream, media_).release());
}

void RtspServer::Implementation::dismiss(std::shared_ptr<RtspReaders> readers) {
  run_on(context_.get(), [readers = std::move(readers)] {
    for (const auto& client : readers->clients([](const RtspReader&) { return true; })) end_connection(client.get());
  });
}

RtspServer::RtspServer(const ServerConfig& config, RigView& rig, Access& access, std::set<std::string> streams,
                       const RtspLimits& limits, ServerTls tls, Nodes* nodes)
    : implementation_(
          std::make_unique<Implementation>(config, rig, access, std::move(streams), limits, std::move(tls), nodes)) {}
RtspServer::~RtspServer() = default;
void RtspServer::add(const std::string& stream) { implementation_->add(stream); }
void RtspServer::let_in(UniqueFd connection, const Identity& identity, const std::string& address) {
  implementation_->let_in(std::move(connection), identity, address);
}
void RtspServer::remove(const std::string& stream) { implementation_->remove(stream); }
void RtspServer::renew_certificate(ServerTls tls) { implementation_->renew_certificate(std::move(tls)); }
nlohmann::json RtspServer::viewers() const { return implementation_->viewers(); }

}  // namespace campipe
