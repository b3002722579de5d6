// Which frames that were sent to another node are lost.
#include "app/link/flight.h"

#include <gtest/gtest.h>

namespace campipe {
namespace CAMPIPE_FILE {

TEST(Flight, WhatIsOvertakenIsLost) {
  Flight flight;
  for (const std::uint64_t number : {3, 4, 5, 9}) flight.leaves(number);
  Flight::Arrival arrival = flight.comes_back(3);
  EXPECT_TRUE(arrival.is_awaited);
  EXPECT_EQ(arrival.lost, 0U);
  arrival = flight.comes_back(9);
  EXPECT_TRUE(arrival.is_awaited);
  EXPECT_EQ(arrival.lost, 2U);
  EXPECT_EQ(flight.size(), 0U);
}

TEST(Flight, WhatIsNotSentIsNotAwaited) {
  Flight flight;
  flight.leaves(3);
  flight.leaves(4);
  EXPECT_TRUE(flight.stays(4));
  EXPECT_EQ(flight.size(), 1U);
  flight.leaves(5);
  EXPECT_TRUE(flight.comes_back(3).is_awaited);
  EXPECT_EQ(flight.comes_back(5).lost, 0U);
  EXPECT_FALSE(flight.stays(5)) << "it was given up, or has come back";
}

TEST(Flight, WhatNobodyAwaitsIsNobodys) {
  Flight flight;
  EXPECT_FALSE(flight.comes_back(7).is_awaited);  // of another process's time
  flight.leaves(8);
  EXPECT_FALSE(flight.comes_back(7).is_awaited);
  EXPECT_EQ(flight.size(), 1U);
  EXPECT_EQ(flight.give_up(), 1U);
  EXPECT_FALSE(flight.comes_back(8).is_awaited);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
