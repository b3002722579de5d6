// The part of a simulated node that keeps its lease: its offer, its state, and the fiber that waits for LeaseKeeper.
#pragma once

#include <utility>

#include "app/cluster/lease_keeper.h"
#include "tests/sim/cluster/node_link.h"

namespace campipe::sim {

class SimLease : public LeasePort {
 protected:
  // `requests`, `fiber`: members of the class that derives from this one. They are used once all of it is there.
  SimLease(World& world, LinkRequests& requests, Fiber& fiber, NodeOffer offer)
      : world_(world), lease_requests_(requests), lease_fiber_(fiber), offer_(std::move(offer)) {}

  void offer_anew(NodeOffer offer) {
    offer_ = std::move(offer);
    offer_is_new_ = true;
    lease_fiber_.wake();
  }
  [[nodiscard]] const NodeOffer& current_offer() const { return offer_; }

  EtcdRequests& etcd() override { return lease_requests_; }
  [[nodiscard]] Clock::time_point now() const override { return world_.now(); }
  [[nodiscard]] bool is_ending() const override { return false; }
  void sleep_until(Clock::time_point due, bool for_offer) override {
    while (!is_ending() && now() < due && !(for_offer && offer_is_new_)) lease_fiber_.wait_until(due);
  }
  NodeOffer take_offer() override {
    offer_is_new_ = false;
    return offer_;
  }
  [[nodiscard]] bool offer_is_new() const override { return offer_is_new_; }
  void write_offer_again() override { offer_is_new_ = true; }
  [[nodiscard]] MembershipState last_state() const override { return state_; }
  void set_state(const MembershipState& state) override { state_ = state; }

 private:
  World& world_;
  LinkRequests& lease_requests_;
  Fiber& lease_fiber_;
  NodeOffer offer_;
  bool offer_is_new_ = false;
  MembershipState state_;
};

}  // namespace campipe::sim
