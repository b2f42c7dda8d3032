// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/local_socket.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace weir::manager {

namespace asio = boost::asio;
using asio::local::stream_protocol;

namespace {

std::optional<gid_t> groupNamed(const std::string& name) {
  const ::group* entry = name.empty() ? nullptr : ::getgrnam(name.c_str());
  return entry != nullptr ? std::optional(entry->gr_gid) : std::nullopt;
}

// Mode 0660 and the same for one more group, in the form that the kernel takes (acl(5)).
bool admit(const std::filesystem::path& path, gid_t group) {
  static_assert(std::endian::native == std::endian::little, "the form is in little-endian order");
  constexpr auto kUse = static_cast<__le16>(ACL_READ | ACL_WRITE);
  constexpr auto kNobody = static_cast<__le32>(ACL_UNDEFINED_ID);
  const struct {
    posix_acl_xattr_header header;
    std::array<posix_acl_xattr_entry, 5> entries;
  } list{{POSIX_ACL_XATTR_VERSION},
         {{{ACL_USER_OBJ, kUse, kNobody},
           {ACL_GROUP_OBJ, kUse, kNobody},
           {ACL_GROUP, kUse, group},
           {ACL_MASK, kUse, kNobody},
           {ACL_OTHER, 0, kNobody}}}};
  return ::setxattr(path.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0;
}

}  // namespace

SocketGroups SocketGroups::named(const std::string& owner, const std::string& viewers) {
  return {groupNamed(owner), groupNamed(viewers)};
}

LocalListener::~LocalListener() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<LocalListener> listenLocal(asio::io_context& io, const std::filesystem::path& path,
                                  const SocketGroups& groups) {
  const auto failure = [&](const std::string& what) {
    return Error{fmt::format("cannot listen on {}: {}", path.string(), what)};
  };
  sockaddr_un address{};
  if (path.native().size() >= sizeof address.sun_path) return failure("the path is too long");
  ::unlink(path.c_str());
  stream_protocol::acceptor acceptor(io);
  boost::system::error_code error;
  acceptor.open(stream_protocol(), error);
  if (error) return failure(error.message());
  // Nobody else may connect in the moment before the mode is set.
  const mode_t before = ::umask(0777);
  acceptor.bind(stream_protocol::endpoint(path.string()), error);
  ::umask(before);
  if (error) return failure(error.message());
  const auto warn = [&](const char* what, gid_t group) {
    log::warning(what, {{"PATH", path.string()},
                        {"GROUP", std::to_string(group)},
                        {"REASON", std::strerror(errno)}});
  };
  if (groups.owner && ::chown(path.c_str(), static_cast<uid_t>(-1), *groups.owner) != 0)
    warn("cannot give the socket to its group", *groups.owner);
  if (::chmod(path.c_str(), 0660) != 0) return failure(std::strerror(errno));
  if (groups.viewers && !admit(path, *groups.viewers))
    warn("this file system has no access control lists: viewers cannot connect", *groups.viewers);
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failure(error.message());
  return LocalListener(std::move(acceptor), path);
}

}  // namespace weir::manager
