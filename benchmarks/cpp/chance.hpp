// Chance as the kernels have it, for the hand-written loops.

#pragma once

#include <cstdint>

// SplitMix64 (Steele, Lea and Flood 2014).
struct Chance {
    uint64_t state;

    uint64_t bits() {
        uint64_t mixed = state += 0x9E3779B97F4A7C15u;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        return mixed ^ (mixed >> 31);
    }

    // An exactly uniform integer 0 .. count - 1 (Lemire 2019).
    int64_t below(int64_t count) {
        int64_t product = static_cast<int64_t>(bits() >> 32) * count;
        if ((product & 0xFFFFFFFF) < count) {
            const int64_t threshold = (0x100000000 - count) % count;
            while ((product & 0xFFFFFFFF) < threshold)
                product = static_cast<int64_t>(bits() >> 32) * count;
        }
        return product >> 32;
    }

    // A number in [0, 1) with 53 random bits.
    double uniform() { return static_cast<double>(bits() >> 11) * (1.0 / 9007199254740992.0); }
};
