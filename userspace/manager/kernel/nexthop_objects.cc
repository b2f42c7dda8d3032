// SPDX-License-Identifier: GPL-2.0-or-later
#include "manager/kernel/nexthop_objects.h"

#include <fmt/format.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "manager/kernel/attributes.h"
#include "manager/kernel/own_numbers.h"

namespace weir::manager {
namespace {

constexpr std::uint32_t kHighestWeight = 256;
constexpr std::uint32_t kObjects = 2 * kMarkIndices + 2 * 65536;
constexpr std::size_t kBucketsPerMember = 32, kFewestBuckets = 256, kMostBuckets = 16384;

nhmsg* putHeader(nlmsghdr* m, std::uint8_t family, std::uint8_t protocol) {
  auto* header = static_cast<nhmsg*>(mnl_nlmsg_put_extra_header(m, sizeof(nhmsg)));
  header->nh_family = family;
  header->nh_protocol = protocol;
  return header;
}

std::vector<NextHopGroup::Member> readMembers(std::span<const std::uint8_t> bytes) {
  std::vector<NextHopGroup::Member> members;
  for (; bytes.size() >= sizeof(nexthop_grp); bytes = bytes.subspan(sizeof(nexthop_grp))) {
    nexthop_grp member;
    std::memcpy(&member, bytes.data(), sizeof member);
    members.push_back({member.id, member.weight + 1u});
  }
  std::ranges::sort(members);
  return members;
}

Status numberTaken(std::uint32_t id) {
  return Error{
      fmt::format("next hop {0} is one that weir has not made (ip nexthop show id {0}): "
                  "delete it or choose another tableBase in weir.yaml",
                  id)};
}

}  // namespace

std::string NextHopObject::toString() const { return "of backend " + gateway.toString(); }
std::string NextHopGroup::toString() const { return fmt::format("{}", id); }

std::vector<std::uint32_t> kernelWeights(const std::vector<std::uint32_t>& weights) {
  std::vector<std::uint32_t> result;
  const std::uint32_t most = weights.empty() ? 0 : std::ranges::max(weights);
  for (const std::uint32_t weight : weights) {
    if (most <= kHighestWeight || weight == 0)
      result.push_back(weight);
    else
      result.push_back(std::max<std::uint32_t>(
          1, static_cast<std::uint32_t>(
                 std::lround(static_cast<double>(weight) * double{kHighestWeight} / most))));
  }
  return result;
}

Result<NextHopObjects::Found> NextHopObjects::read(const RoutingOwnership& own) {
  Found found;
  Messages request;
  request.add("next hops", RTM_GETNEXTHOP, NLM_F_REQUEST, 64,
              [](nlmsghdr* m) { putHeader(m, AF_UNSPEC, 0); });
  const auto dump = netlink_.dump(request);
  if (!dump) return dump.error();
  for (std::size_t i = 0; i < dump->size(); ++i) {
    const auto* header = static_cast<const nhmsg*>(mnl_nlmsg_get_payload(dump->at(i)));
    NextHopObject object;
    bool isGroup = false;
    NextHopGroup group;
    forEachAttribute(*dump->at(i), sizeof *header, [&](const nlattr* attribute) {
      const std::uint16_t type = mnl_attr_get_type(attribute);
      const auto bytes = attributeBytes(attribute);
      if (type == NHA_ID) object.id = group.id = attributeNumber(attribute);
      if (type == NHA_OIF) object.interface = attributeNumber(attribute);
      if (type == NHA_GATEWAY) object.gateway = addressFrom(bytes).value_or(Address{});
      if (type != NHA_GROUP) return;
      isGroup = true;
      group.members = readMembers(bytes);
    });
    if (object.id - own.tableBase >= kObjects) continue;
    if (header->nh_protocol != own.routeProtocol)
      found.others.emplace(object.id, header->nh_protocol);
    else if (isGroup)
      found.groups.insert(std::move(group));
    else
      found.objects.insert(object);
  }
  return found;
}

Status NextHopObjects::addGroup(const NextHopGroup& group, std::uint8_t protocol, bool exists) {
  std::vector<nexthop_grp> members;
  for (const NextHopGroup::Member& member : group.members) {
    nexthop_grp entry{};
    entry.id = member.id;
    entry.weight = static_cast<std::uint8_t>(member.weight - 1);
    members.push_back(entry);
  }
  for (;;) {
    Messages message;
    message.add(fmt::format("next hop group {}", group.id), RTM_NEWNEXTHOP,
                NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
                256 + members.size() * sizeof(nexthop_grp), [&](nlmsghdr* m) {
                  putHeader(m, AF_UNSPEC, protocol);
                  mnl_attr_put_u32(m, NHA_ID, group.id);
                  mnl_attr_put(m, NHA_GROUP, members.size() * sizeof(nexthop_grp), members.data());
                  if (!resilient_) return;
                  mnl_attr_put_u16(m, NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES);
                  // The number of buckets is for a group's whole life.
                  if (exists) return;
                  const std::size_t buckets =
                      std::clamp(std::bit_ceil(members.size() * kBucketsPerMember), kFewestBuckets,
                                 kMostBuckets);
                  nlattr* nest = mnl_attr_nest_start(m, NHA_RES_GROUP);
                  mnl_attr_put_u16(m, NHA_RES_GROUP_BUCKETS, static_cast<std::uint16_t>(buckets));
                  mnl_attr_nest_end(m, nest);
                });
    const Status sent = sendChanges(netlink_, message, {});
    if (sent || !resilient_ || exists) return sent;
    resilient_ = false;
  }
}

Status NextHopObjects::addObjects(std::uint8_t protocol,
                                  const std::function<bool(std::uint32_t)>& isForeign) {
  Status status = success();
  Messages messages;
  for (const NextHopObject& object : objects_.missing()) {
    if (isForeign(object.id)) {
      keepFirst(status, numberTaken(object.id));
      objects_.refused(object);
      continue;
    }
    messages.add("next hop " + object.toString(), RTM_NEWNEXTHOP,
                 NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, 128, [&](nlmsghdr* m) {
                   putHeader(m, addressFamily(object.gateway.family()), protocol)->nh_flags =
                       RTNH_F_ONLINK;
                   mnl_attr_put_u32(m, NHA_ID, object.id);
                   mnl_attr_put_u32(m, NHA_OIF, object.interface);
                   putAddress(m, NHA_GATEWAY, object.gateway);
                 });
  }
  keepFirst(status, sendChanges(netlink_, messages, {}));
  return status;
}

Status NextHopObjects::addMissing(std::set<NextHopObject> objects, std::set<NextHopGroup> groups,
                                  const RoutingOwnership& own,
                                  std::span<const RoutingOwnership> former, ChangeLog& log) {
  const auto found = read(own);
  if (!found) return found.error();
  // Numbers that weir's things had: whoever has one of them now has taken it.
  std::set<std::uint32_t> made;
  for (const NextHopObject& object : objects_.made()) made.insert(object.id);
  for (const NextHopGroup& group : groups_.made()) made.insert(group.id);
  const auto isForeign = [&](std::uint32_t id) {
    const auto other = found->others.find(id);
    return other != found->others.end() && !made.contains(id) &&
           std::ranges::find(former, other->second, &RoutingOwnership::routeProtocol) ==
               former.end();
  };
  objects_.compare(found->objects, std::move(objects), log);
  groups_.compare(found->groups, std::move(groups), log);
  Status status = addObjects(own.routeProtocol, isForeign);
  for (const NextHopGroup& group : groups_.missing()) {
    const bool foreignMember = std::ranges::any_of(
        group.members, [&](const NextHopGroup::Member& member) { return isForeign(member.id); });
    if (foreignMember || isForeign(group.id)) {
      // Never a group that leads to a stranger's next hop.
      if (!foreignMember) keepFirst(status, numberTaken(group.id));
      groups_.refused(group);
      continue;
    }
    const bool exists = found->others.contains(group.id) ||
                        std::ranges::any_of(found->groups, [&](const NextHopGroup& other) {
                          return other.id == group.id;
                        });
    keepFirst(status, addGroup(group, own.routeProtocol, exists));
    // A group that is replaced keeps its protocol number: it is made anew when the former went.
    if (found->others.contains(group.id)) groups_.refused(group);
  }
  return status;
}

Status NextHopObjects::remove(const std::set<std::uint32_t>& ids) {
  Messages messages;
  // Groups have the higher numbers: they go before their members.
  for (auto id = ids.rbegin(); id != ids.rend(); ++id)
    messages.add("deletion of a next hop", RTM_DELNEXTHOP, NLM_F_REQUEST | NLM_F_ACK, 64,
                 [&](nlmsghdr* m) {
                   putHeader(m, AF_UNSPEC, 0);
                   mnl_attr_put_u32(m, NHA_ID, *id);
                 });
  return sendChanges(netlink_, messages, {ENOENT});
}

Status NextHopObjects::removeOthers() {
  std::set<std::uint32_t> ids;
  for (const NextHopObject& object : objects_.others()) ids.insert(object.id);
  for (const NextHopGroup& group : groups_.others()) ids.insert(group.id);
  objects_.removed();
  groups_.removed();
  // What has been replaced under its number stays.
  for (const NextHopObject& object : objects_.made()) ids.erase(object.id);
  for (const NextHopGroup& group : groups_.made()) ids.erase(group.id);
  return remove(ids);
}

Status NextHopObjects::removeAll(const RoutingOwnership& own) {
  const auto found = read(own);
  if (!found) return found.error();
  std::set<std::uint32_t> ids;
  for (const NextHopObject& object : found->objects) ids.insert(object.id);
  for (const NextHopGroup& group : found->groups) ids.insert(group.id);
  forget();
  return remove(ids);
}

}  // namespace weir::manager
