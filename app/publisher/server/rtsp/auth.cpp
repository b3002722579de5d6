#include "app/publisher/server/rtsp/auth.h"

#include <map>
#include <optional>
#include <string_view>

#include "app/config/secrets.h"
#include "app/publisher/server/login_limit.h"
#include "core/c_callback.h"
#include "core/random_bytes.h"

namespace campipe {
namespace {

constexpr const char* realm = "campipe";
constexpr guint most_sessions_of_connection = 8;  // of one connection
constexpr const char* identity_key = "campipe-identity";
constexpr const char* owner_key = "campipe-owner";
constexpr const char* nonce_key = "campipe-nonce";

struct Auth {
  GstRTSPAuth base;
  Access* access;
  RtspLogins* logins;
  FindRtspLogin find_login;
  FindLetIn find_let_in;
  bool tls;
};
struct AuthClass {
  GstRTSPAuthClass base;
};

void remember(gpointer object, const char* key, const std::string& value) {
  g_object_set_data_full(G_OBJECT(object), key, g_strdup(value.c_str()), g_free);
}

std::string recall(gpointer object, const char* key) {
  const auto* value = static_cast<const char*>(g_object_get_data(G_OBJECT(object), key));
  return value == nullptr ? "" : value;
}

void set_identity(GstRTSPClient* client, Identity identity) {
  g_object_set_data_full(G_OBJECT(client), identity_key, new Identity(std::move(identity)),
                         c_callback<[](gpointer data) { delete static_cast<Identity*>(data); }>);
}

std::string nonce_of(GstRTSPClient* client) {
  if (recall(client, nonce_key).empty()) remember(client, nonce_key, random_hex(16));
  return recall(client, nonce_key);
}

// Of one request.
struct Verdict {
  std::optional<Identity> identity = {};
  bool stale = false;
  int retry_after_s = 0;
};

// What was found before the request came here; it holds for no other login than the one that GStreamer reads in it.
Verdict check_basic(Auth& auth, const GstRTSPContext* ctx) {
  const RtspLogin* login = auth.find_login(ctx->client);
  if (login == nullptr || !login->done || basic_login(*ctx->request) != login->given) return {};
  return {.identity = login->identity, .retry_after_s = login->retry_after_s};
}

Verdict check_digest(Auth& auth, GstRTSPAuthParam* const* params, const GstRTSPContext* ctx,
                     const std::string& address) {
  std::map<std::string, std::string> given;
  for (; params != nullptr && *params != nullptr; ++params) {
    if ((*params)->value != nullptr) given[(*params)->name] = (*params)->value;
  }
  const std::string& user = given["username"];
  const std::string nonce = nonce_of(ctx->client);
  if (!equal_secrets(given["nonce"], nonce)) return {.stale = true};
  if (const int wait = auth.logins->digest_wait_s(address, user)) return {.retry_after_s = wait};
  const auto secret = auth.access->rtsp_secret(user);
  const GTextPtr right(gst_rtsp_generate_digest_auth_response(nullptr, gst_rtsp_method_as_text(ctx->method), realm,
                                                              user.c_str(), secret.value_or(nobodys_secret).c_str(),
                                                              given["uri"].c_str(), nonce.c_str()));
  const bool fits = right && equal_secrets(given["response"], right.get()) && secret;
  auth.logins->digest_was(fits, address, user);
  return {.identity = fits ? auth.access->identity_of(user) : std::nullopt};
}

Verdict check_request(Auth& auth, const GstRTSPContext* ctx) {
  const std::unique_ptr<GstRTSPAuthCredential*, GRelease<gst_rtsp_auth_credentials_free>> credentials(
      gst_rtsp_message_parse_auth_credentials(ctx->request, GST_RTSP_HDR_AUTHORIZATION));
  const GstRTSPAuthCredential* first = credentials ? *credentials : nullptr;
  if (first == nullptr) return {};
  if (first->scheme == GST_RTSP_AUTH_BASIC) return check_basic(auth, ctx);
  if (first->scheme == GST_RTSP_AUTH_DIGEST) return check_digest(auth, first->params, ctx, rtsp_address(ctx->client));
  return {};
}

void answer(const GstRTSPContext* ctx, GstRTSPStatusCode status) {
  gst_rtsp_message_init_response(ctx->response, status, gst_rtsp_status_as_text(status), ctx->request);
}

void send(const GstRTSPContext* ctx) { gst_rtsp_client_send_message(ctx->client, ctx->session, ctx->response); }

void refuse(Auth& auth, const GstRTSPContext* ctx, const Verdict& verdict) {
  if (verdict.retry_after_s > 0) {
    answer(ctx, GST_RTSP_STS_SERVICE_UNAVAILABLE);
    gst_rtsp_message_add_header(ctx->response, GST_RTSP_HDR_RETRY_AFTER, std::to_string(verdict.retry_after_s).c_str());
    return send(ctx);
  }
  answer(ctx, GST_RTSP_STS_UNAUTHORIZED);
  if (!auth.tls && auth.access->has_rtsp_secrets()) {
    const std::string digest = std::string("Digest realm=\"") + realm + "\", nonce=\"" + nonce_of(ctx->client) + "\"" +
                               (verdict.stale ? ", stale=TRUE" : "");
    gst_rtsp_message_add_header(ctx->response, GST_RTSP_HDR_WWW_AUTHENTICATE, digest.c_str());
  }
  const std::string basic = std::string("Basic realm=\"") + realm + "\"";
  gst_rtsp_message_add_header(ctx->response, GST_RTSP_HDR_WWW_AUTHENTICATE, basic.c_str());
  send(ctx);
}

// The library has put the session that the request names among the client's own, and would end it with the connection.
void forget_session(const GstRTSPContext* ctx) {
  gst_rtsp_client_session_filter(ctx->client,
                                 c_callback<[](GstRTSPClient*, GstRTSPSession* session, gpointer named) {
                                   return session == named ? GST_RTSP_FILTER_REMOVE : GST_RTSP_FILTER_KEEP;
                                 },
                                            GST_RTSP_FILTER_KEEP>,
                                 ctx->session);
}

bool check_url(Auth& auth, GstRTSPContext* ctx) {
  if (!auth.access->required()) return true;
  const Identity* const let_in = auth.find_let_in(ctx->client);
  const Verdict verdict = let_in != nullptr ? Verdict{.identity = *let_in} : check_request(auth, ctx);
  const auto& identity = verdict.identity;
  set_identity(ctx->client, identity.value_or(Identity{}));
  const bool foreign = ctx->session != nullptr && (!identity || recall(ctx->session, owner_key) != identity->user);
  if (foreign) forget_session(ctx);
  if (!identity) {
    refuse(auth, ctx, verdict);
  } else if (foreign) {
    answer(ctx, GST_RTSP_STS_SESSION_NOT_FOUND);
    send(ctx);
  }
  return identity && !foreign;
}

// There are only so many for all (publisher/server/rtsp/server.cpp).
bool check_sessions(const GstRTSPContext* ctx) {
  if (ctx->method != GST_RTSP_SETUP || ctx->session != nullptr) return true;
  GList* sessions = gst_rtsp_client_session_filter(ctx->client, nullptr, nullptr);
  const bool more = g_list_length(sessions) < most_sessions_of_connection;
  g_list_free_full(sessions, g_object_unref);
  if (more) return true;
  answer(ctx, GST_RTSP_STS_SERVICE_UNAVAILABLE);
  send(ctx);
  return false;
}

bool check_camera(Auth& auth, const GstRTSPContext* ctx) {
  if (may_view(*auth.access, rtsp_identity(ctx->client), ctx->uri->abspath)) return true;
  answer(ctx, GST_RTSP_STS_NOT_FOUND);  // as if there were none
  send(ctx);
  return false;
}

gboolean check(GstRTSPAuth* auth, GstRTSPContext* ctx, const gchar* what) {
  const std::string_view asked = what;
  Auth& self = *reinterpret_cast<Auth*>(auth);
  if (asked == GST_RTSP_AUTH_CHECK_URL) return check_url(self, ctx) && check_sessions(ctx) ? TRUE : FALSE;
  if (asked == GST_RTSP_AUTH_CHECK_MEDIA_FACTORY_ACCESS) return check_camera(self, ctx) ? TRUE : FALSE;
  // That a reader names another destination than itself is never allowed.
  return asked == GST_RTSP_AUTH_CHECK_MEDIA_FACTORY_CONSTRUCT ? TRUE : FALSE;
}

GType auth_type() {
  static const GType type = g_type_register_static_simple(
      GST_TYPE_RTSP_AUTH, "CampipeRtspAuth", sizeof(AuthClass),
      [](gpointer table, gpointer) { static_cast<GstRTSPAuthClass*>(table)->check = c_callback<check, FALSE>; },
      sizeof(Auth), nullptr, GTypeFlags{});
  return type;
}

}  // namespace

GObjectPtr<GstRTSPAuth> make_rtsp_auth(RtspLogins& logins, FindRtspLogin find_login, FindLetIn find_let_in, bool tls) {
  GObjectPtr<GstRTSPAuth> auth(GST_RTSP_AUTH(g_object_new(auth_type(), nullptr)));
  auto* self = reinterpret_cast<Auth*>(auth.get());
  self->access = &logins.access();
  self->logins = &logins;
  self->find_login = find_login;
  self->find_let_in = find_let_in;
  self->tls = tls;
  return auth;
}

Identity rtsp_identity(GstRTSPClient* client) {
  const auto* identity = static_cast<const Identity*>(g_object_get_data(G_OBJECT(client), identity_key));
  return identity == nullptr ? Identity{} : *identity;
}

void own_session(GstRTSPSession* session, GstRTSPClient* client) {
  remember(session, owner_key, rtsp_identity(client).user);
}

bool may_view(const Access& access, const Identity& identity, const std::string& path) {
  if (!access.required()) return true;
  const auto now = access.identity_of(identity.user);
  if (!now || !identity.config || now->config->password != identity.config->password ||
      now->config->rtsp_secret != identity.config->rtsp_secret)
    return false;
  const std::string name = path.substr(path.starts_with('/') ? 1 : 0);
  return now->may(Permission::view, name.substr(0, name.find('/')));
}

std::string rtsp_address(GstRTSPClient* client) {
  const GstRTSPConnection* connection = gst_rtsp_client_get_connection(client);
  const char* ip = connection == nullptr ? nullptr : gst_rtsp_connection_get_ip(connection);
  return without_mapping(ip == nullptr ? "" : ip);
}

std::string rtsp_network(GstRTSPClient* client) { return network_of(rtsp_address(client)); }

std::string without_mapping(std::string address) {
  if (constexpr std::string_view mapped = "::ffff:"; address.starts_with(mapped)) address.erase(0, mapped.size());
  return address;
}

}  // namespace campipe
