// All keys below a prefix as they are in etcd, kept up by the news of an EtcdWatch. A value; no thread of its own.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "app/cluster/etcd_watch.h"
#include "app/cluster/value_limits.h"

namespace campipe {

class EtcdMirror {
 public:
  using Values = std::map<std::string, EtcdKeyValue, std::less<>>;

  void apply(const EtcdNews& news) {
    if (news.anew) values_.clear();
    for (const EtcdEvent& event : news.events) {
      if (event.value.key.size() > longest_etcd_key) continue;  // none of campipe's
      if (event.removed) values_.erase(event.value.key);
      if (!event.removed) values_.insert_or_assign(event.value.key, event.value);
    }
    revision_ = news.revision;
  }

  // 0: nothing is known yet.
  [[nodiscard]] std::int64_t revision() const { return revision_; }
  [[nodiscard]] const Values& values() const { return values_; }
  // Null: there is none.
  [[nodiscard]] const EtcdKeyValue* find(std::string_view key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  // Calls `look` with what follows the prefix in a key, and the key's value.
  template <typename Look>
  void each_below(std::string_view prefix, const Look& look) const {
    for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.starts_with(prefix); ++at) {
      look(std::string_view(at->first).substr(prefix.size()), at->second);
    }
  }

 private:
  Values values_;
  std::int64_t revision_ = 0;
};

}  // namespace campipe
