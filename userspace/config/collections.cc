// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/collections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/resource_schemas.h"
#include "config/types.h"
#include "config/words.h"

namespace weir::config {
namespace {

std::string nameOf(const Value& resource) {
  const auto* name = resource.find("name");
  return name == nullptr ? "" : name->value->text;
}

struct Item {
  std::string_view collection;
  const ValuePtr& value;
  Reader& reader;
  Draft& draft;
};

void define(const Item& item, const std::string& name) {
  const Origin at = item.reader.at(locate(*item.value, "name"));
  item.draft.definitions.push_back(
      {std::string(item.collection), name, at.text->name(), at.text->lineOf(at.mark)});
}

template <class T>
void put(bool replaces, std::vector<Located<T>>& list, Located<T> resource) {
  const auto isReplaced = [&](const Located<T>& l) {
    return l.text == nullptr && l.value.name == resource.value.name;
  };
  const auto old = replaces ? std::find_if(list.begin(), list.end(), isReplaced) : list.end();
  if (old != list.end())
    *old = std::move(resource);
  else
    list.push_back(std::move(resource));
}

template <class T>
void add(const Item& item, std::vector<Located<T>>& list, void (*read)(const Value&, T&, Reader&)) {
  Located<T> resource;
  resource.text = &item.reader.text();
  resource.tree = item.value;
  item.reader.watch(*item.value, [&] { read(*item.value, resource.value, item.reader); });
  resource.broken = item.reader.problems().isWrong(*item.value);
  if (resource.value.name.empty()) resource.value.name = nameOf(*item.value);
  define(item, resource.value.name);
  put(item.draft.replaces, list, std::move(resource));
}

void addHealthCheck(const Item& item) { add(item, item.draft.healthChecks, readHealthCheck); }
void addGroup(const Item& item) { add(item, item.draft.groups, readGroup); }
void addService(const Item& item) { add(item, item.draft.services, readService); }
void addRule(const Item& item) { add(item, item.draft.rules, readRule); }
void addRoute(const Item& item) { add(item, item.draft.routes, readRoute); }
void addTargetProxy(const Item& item) { add(item, item.draft.targetProxies, readTargetProxy); }
void addTlsRoute(const Item& item) { add(item, item.draft.tlsRoutes, readTlsRoute); }
void addLbPolicy(const Item& item) { add(item, item.draft.lbPolicies, readLbPolicy); }

struct Collection {
  std::string_view name;
  std::string_view kind;  // of an export
  void (*add)(const Item&);
  const MappingInfo& (*fields)();
};
constexpr std::array<Collection, 8> kCollections{{
    {"healthChecks", "compute#healthCheck", addHealthCheck, healthCheckFields},
    {"networkEndpointGroups", "compute#networkEndpointGroup", addGroup, groupFields},
    {"backendServices", "compute#backendService", addService, serviceFields},
    {"forwardingRules", "compute#forwardingRule", addRule, ruleFields},
    {"routes", "compute#route", addRoute, routeFields},
    {"targetTcpProxies", "compute#targetTcpProxy", addTargetProxy, targetProxyFields},
    {"tlsRoutes", "networkservices#tlsRoute", addTlsRoute, tlsRouteFields},
    {"serviceLbPolicies", "networkservices#serviceLbPolicy", addLbPolicy, lbPolicyFields},
}};

// What Google has and weir does not: collection, kind, and what to do.
struct Foreign {
  std::string_view name;
  std::string_view kind;
  std::string_view reason;
};
constexpr std::string_view kUseGroups = "list the addresses in a networkEndpointGroup";
constexpr std::string_view kNoHttp = "weir does not read HTTP";
constexpr std::string_view kNoTls = "weir does not end TLS";
constexpr std::string_view kUseRoutes = "the kernel's own routing does that";
constexpr std::array<Foreign, 34> kForeign{{
    {"targetPools", "compute#targetPool", "use a backendService"},
    {"targetInstances", "compute#targetInstance", "use a backendService"},
    {"targetHttpProxies", "compute#targetHttpProxy", kNoHttp},
    {"targetHttpsProxies", "compute#targetHttpsProxy", kNoHttp},
    {"targetGrpcProxies", "compute#targetGrpcProxy", kNoHttp},
    {"targetSslProxies", "compute#targetSslProxy", kNoTls},
    {"targetVpnGateways", "compute#targetVpnGateway", kUseRoutes},
    {"urlMaps", "compute#urlMap", kNoHttp},
    {"backendBuckets", "compute#backendBucket", kNoHttp},
    {"sslCertificates", "compute#sslCertificate", kNoTls},
    {"sslPolicies", "compute#sslPolicy", kNoTls},
    {"httpHealthChecks", "compute#httpHealthCheck", "use a healthCheck of type HTTP"},
    {"httpsHealthChecks", "compute#httpsHealthCheck", "use a healthCheck of type HTTPS"},
    {"healthCheckServices", "compute#healthCheckService", "name the healthCheck in the service"},
    {"instances", "compute#instance", kUseGroups},
    {"instanceGroups", "compute#instanceGroup", kUseGroups},
    {"instanceGroupManagers", "compute#instanceGroupManager", kUseGroups},
    {"instanceTemplates", "compute#instanceTemplate", kUseGroups},
    {"autoscalers", "compute#autoscaler", "weir does not start machines"},
    {"addresses", "compute#address", "write the address into the forwarding rule"},
    {"globalAddresses", "compute#globalAddress", "write the address into the forwarding rule"},
    {"globalForwardingRules", "compute#globalForwardingRule", "use forwardingRules"},
    {"regionBackendServices", "compute#regionBackendService", "use backendServices"},
    {"regionHealthChecks", "compute#regionHealthCheck", "use healthChecks"},
    {"firewalls", "compute#firewall", "filter packets with nftables"},
    {"securityPolicies", "compute#securityPolicy", "filter packets with nftables"},
    {"networks", "compute#network", "the host's own network is used"},
    {"subnetworks", "compute#subnetwork", "the host's own network is used"},
    {"routers", "compute#router", kUseRoutes},
    {"vpnTunnels", "compute#vpnTunnel", kUseRoutes},
    {"vpnGateways", "compute#vpnGateway", kUseRoutes},
    {"packetMirrorings", "compute#packetMirroring", "weir does not mirror packets"},
    {"serviceAttachments", "compute#serviceAttachment", "weir has no Private Service Connect"},
    {"networkAttachments", "compute#networkAttachment", "weir has no Private Service Connect"},
}};

const Collection* findCollection(std::string_view name) {
  for (const auto& c : kCollections)
    if (c.name == name) return &c;
  return nullptr;
}

template <class Table>
auto* findKind(const Table& table, std::string_view kind) {
  for (const auto& row : table)
    if (row.kind == kind) return &row;
  return static_cast<decltype(&table[0])>(nullptr);
}

const Foreign* findForeign(std::string_view name) {
  for (const auto& f : kForeign)
    if (f.name == name) return &f;
  return nullptr;
}

bool isNodeKey(std::string_view name) {
  const auto& fields = nodeFields().fields;
  return std::any_of(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; });
}

std::vector<std::string> collectionNames() {
  std::vector<std::string> names;
  for (const auto& c : kCollections) names.emplace_back(c.name);
  return names;
}

// "tlsRoutes" of "projects/p/locations/global/tlsRoutes/t"; empty without such a path.
std::string_view collectionSegment(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : lastSegment(path.substr(0, slash));
}

// A resource without its collection and kind, as `gcloud ... export` prints some.
bool isBareResource(const Value& document) {
  return document.find("name") != nullptr &&
         std::none_of(document.entries.begin(), document.entries.end(), [](const auto& entry) {
           return findCollection(entry.key) != nullptr || isNodeKey(entry.key);
         });
}

void addItems(const Collection& collection, const Value::Entry& entry, Reader& reader,
              Draft& draft) {
  const Value& list = *entry.value;
  // A key whose lines are all commented out is an empty list.
  if (list.kind == Value::Kind::null) return;
  if (list.kind != Value::Kind::sequence) {
    reader.error(list.mark,
                 fmt::format("{} must be a list of resources, not {}", entry.key, list.describe()));
    return;
  }
  const Reader::Scope scope(reader, collection.name, true);
  for (const ValuePtr& item : list.items) {
    if (item->kind == Value::Kind::mapping)
      collection.add({collection.name, item, reader, draft});
    else
      reader.mustBe(*item, "a mapping");
  }
}

}  // namespace

const std::vector<CollectionInfo>& collections() {
  static const auto all = [] {
    std::vector<CollectionInfo> list;
    for (const Collection& c : kCollections) list.push_back({c.name, c.kind, c.fields});
    return list;
  }();
  return all;
}

void DocumentReader::read(const ValuePtr& document) {
  switch (document->kind) {
    case Value::Kind::null:
      return;
    case Value::Kind::scalar:
      reader_.error(document->mark,
                    fmt::format("a configuration is a mapping of collections ({}), not {}",
                                join(collectionNames(), "and"), document->describe()));
      return;
    case Value::Kind::sequence:
      for (const ValuePtr& item : document->items) {
        if (!readExport(item))
          reader_.error(item->mark,
                        "each item of a list document must be an exported resource with its "
                        "'kind', such as compute#backendService");
      }
      return;
    case Value::Kind::mapping:
      if (readExport(document)) return;
      if (isBareResource(*document))
        reader_.error(document->find("name")->mark,
                      fmt::format("this is one resource, but of which collection? Put it into the "
                                  "list of one ({}), or add its 'kind', such as "
                                  "compute#backendService",
                                  join(collectionNames(), "or")));
      else
        readCollections(document);
      return;
  }
}

bool DocumentReader::readExport(const ValuePtr& resource) {
  if (const auto* kind = resource->find("kind")) {
    readKind(resource, *kind);
    return true;
  }
  const Collection* collection = findCollection(collectionSegment(nameOf(*resource)));
  if (collection == nullptr) return false;
  collection->add({collection->name, resource, reader_, draft_});
  return true;
}

void DocumentReader::readKind(const ValuePtr& resource, const Value::Entry& kind) {
  const std::string& text = kind.value->text;
  if (const auto* collection = findKind(kCollections, text)) {
    collection->add({collection->name, resource, reader_, draft_});
    return;
  }
  if (const auto* foreign = findKind(kForeign, text)) {
    reader_.error(kind.value->mark,
                  fmt::format("{} is not supported by weir: {}", text, foreign->reason));
    return;
  }
  std::vector<std::string> kinds;
  for (const auto& c : kCollections) kinds.emplace_back(c.kind);
  reader_.error(kind.value->mark,
                fmt::format("unknown kind {}{}; allowed are {}", kind.value->describe(),
                            didYouMean(text, kinds), join(kinds, "and")));
}

void DocumentReader::readCollections(const ValuePtr& mapping) {
  Value nodeSettings;
  nodeSettings.kind = Value::Kind::mapping;
  nodeSettings.mark = mapping->mark;
  for (const Value::Entry& entry : mapping->entries) readKey(entry, nodeSettings);
  if (nodeSettings.entries.empty()) return;

  Located<Node>& node = draft_.node;
  reader_.watch(*mapping, [&] { readNode(nodeSettings, node.value, reader_); });
  if (reader_.problems().isWrong(*mapping)) node.broken = true;
  // Several documents may have settings; places are looked up in all of them.
  auto all = std::make_shared<Value>(std::move(nodeSettings));
  if (node.tree != nullptr)
    all->entries.insert(all->entries.end(), node.tree->entries.begin(), node.tree->entries.end());
  node.text = &reader_.text();
  node.tree = std::move(all);
}

void DocumentReader::readKey(const Value::Entry& entry, Value& nodeSettings) {
  if (const Collection* collection = findCollection(entry.key)) {
    addItems(*collection, entry, reader_, draft_);
  } else if (const Foreign* foreign = findForeign(entry.key)) {
    reader_.error(entry.mark,
                  fmt::format("{} are not supported by weir: {}", entry.key, foreign->reason));
  } else if (!isNodeKey(entry.key)) {
    reportUnknown(entry);
  } else if (holds_ == Holds::resources) {
    reader_.error(entry.mark, fmt::format("{} is a setting of the node and belongs into weir.yaml, "
                                          "not among the resources",
                                          entry.key));
  } else if (const auto [seen, isNew] = nodeKeys_.try_emplace(entry.key, entry.mark); !isNew) {
    reader_.error(entry.mark, fmt::format("duplicate key {}: line {} has it already",
                                          quote(entry.key), reader_.text().lineOf(seen->second)));
  } else {
    nodeSettings.entries.push_back(entry);
  }
}

void DocumentReader::reportUnknown(const Value::Entry& entry) {
  std::vector<std::string> allowed;
  if (holds_ == Holds::nodeAndResources)
    for (const FieldInfo& field : nodeFields().fields) allowed.push_back(field.name);
  for (const auto& c : kCollections) allowed.emplace_back(c.name);
  std::vector<std::string> known = allowed;
  for (const auto& f : kForeign) known.emplace_back(f.name);
  reader_.error(entry.mark, fmt::format("unknown key {}{}; allowed are {}", quote(entry.key),
                                        didYouMean(entry.key, known), join(allowed, "and")));
}

}  // namespace weir::config
