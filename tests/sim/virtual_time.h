// The clocks and the waits of a program that simulates (core/clock.h, ipc/futex.h): while there is a world, clocks show
// its time, and whatever would sleep ends the process with what it was, since nobody would wake it. So does whoever
// looks at the clock again and again until time passes.
#pragma once

namespace campipe::sim {

class World;

// From now on clocks show this world's time; null: the machine's.
void show_world(World* world);
// Called by the world.
void time_has_passed();

}  // namespace campipe::sim
