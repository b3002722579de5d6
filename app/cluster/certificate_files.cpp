#include "app/cluster/certificate_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "app/cluster/certificates.h"
#include "app/config/cluster_name.h"
#include "core/error.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr mode_t for_its_owner = 0600;
constexpr mode_t for_everybody = 0644;

bool is_there(const fs::path& file) {
  std::error_code failed;
  const bool found = fs::exists(fs::symlink_status(file, failed));
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw system_error("cannot look for " + file.string(), failed.value());
  return found;
}

void write_all(int fd, const std::string& text, const fs::path& file) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw system_error("cannot write " + file.string(), errno);
    done += static_cast<std::size_t>(written);
  }
  if (::fsync(fd) != 0) throw system_error("cannot write " + file.string(), errno);
}

// Whole or not at all; nothing may be there before.
void write_new(const fs::path& file, const std::string& text, mode_t mode) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) throw system_error("cannot create " + file.string(), errno);
  try {
    write_all(fd.get(), text, file);
  } catch (...) {
    ::unlink(file.c_str());
    throw;
  }
}

struct PairFiles {
  fs::path certificate;
  fs::path key;
};

PairFiles files_of(const fs::path& folder, const std::string& name) {
  return {folder / (name + ".pem"), folder / (name + ".key")};
}

void write_pair(const PairFiles& files, const PemPair& pair) {
  write_new(files.key, pair.key, for_its_owner);
  write_new(files.certificate, pair.certificate, for_everybody);
}

// The old ones stay until the new ones are there.
void replace_pair(const PairFiles& files, const PemPair& pair) {
  const std::string meanwhile = "." + std::to_string(::getpid()) + ".new";
  const PairFiles next{files.certificate.string() + meanwhile, files.key.string() + meanwhile};
  write_pair(next, pair);
  fs::rename(next.key, files.key);
  fs::rename(next.certificate, files.certificate);
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw system_error("cannot read " + file.string(), errno);
  return {std::istreambuf_iterator<char>(in), {}};
}

void make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw system_error("cannot create the folder " + folder.string(), failed.value());
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw system_error("cannot write into the folder " + folder.string(), errno);
}

// The one in the folder, or a new one, whose files are added to `written`.
PemPair take_authority(const PairFiles& files, std::vector<fs::path>& written) {
  const bool has_certificate = is_there(files.certificate);
  const bool has_key = is_there(files.key);
  if (has_certificate && has_key) return {read_file(files.certificate), read_file(files.key)};
  if (has_certificate || has_key) {
    const fs::path& missing = has_certificate ? files.key : files.certificate;
    throw Error(missing.string() + " is missing, and " + (has_certificate ? files.certificate : files.key).string() +
                " is there: bring the authority's other file, or use another --folder for a new authority");
  }
  PemPair made = make_authority();
  write_pair(files, made);
  written.insert(written.end(), {files.certificate, files.key});
  return made;
}

void require_new(const CertificateOptions& options) {
  for (const CertificateRequest& request : options.nodes) {
    const PairFiles files = files_of(options.folder, request.node);
    for (const fs::path& file : {files.certificate, files.key}) {
      if (!options.replace && is_there(file))
        throw Error(file.string() + " is there already, and nothing was written; --replace replaces it");
    }
  }
}

}  // namespace

CertificateRequest parse_certificate_request(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) throw Error("'" + text + "' is not of the form NODE=HOST[,HOST…]");
  CertificateRequest request{text.substr(0, equals), {}};
  if (!is_cluster_name(request.node)) {
    throw Error("'" + request.node +
                "' is no node's name: 1 to 64 of A–Z, a–z, 0–9, '_', '-', '.', a letter or digit first");
  }
  if (request.node == "ca") throw Error("no node can be called 'ca': the authority's files have that name");
  std::istringstream hosts(text.substr(equals + 1) + ',');
  for (std::string host; std::getline(hosts, host, ',');) {
    if (const std::string problem = host_problem(host); !problem.empty())
      throw Error("node " + request.node + ": '" + host + "' " + problem);
    request.hosts.push_back(std::move(host));
  }
  return request;
}

std::vector<fs::path> write_certificates(const CertificateOptions& options) {
  make_folder(options.folder);
  require_new(options);
  std::vector<fs::path> written;
  const PemPair authority = take_authority(files_of(options.folder, "ca"), written);
  for (const CertificateRequest& request : options.nodes) {
    const PairFiles files = files_of(options.folder, request.node);
    const PemPair made = sign_certificate(authority, request.node, request.hosts, options.days);
    if (options.replace) {
      replace_pair(files, made);
    } else {
      write_pair(files, made);
    }
    written.insert(written.end(), {files.certificate, files.key});
  }
  return written;
}

}  // namespace campipe
