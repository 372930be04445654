// Value iteration, 25 states, 4 actions, dense: the yardstick of benchmarks/brl.py.
//
// Rows are transposed (by successor, then by state and action), so that the sums of four rows are
// kept in registers side by side, and none is reordered.

#include <cstdint>

extern "C" int64_t run(const double *rewards, const double *transitions, double *values,
                       double gamma, int64_t sweeps) {
    constexpr int states = 25, actions = 4, rows = states * actions, block = 20;
    double next[rows];
    for (int64_t sweep = 0; sweep < sweeps; ++sweep) {
        for (int first = 0; first < rows; first += block) {
            double sums[block] = {};
            for (int y = 0; y < states; ++y) {
                const double value = values[y];
                const double *row = transitions + y * rows + first;
                for (int k = 0; k < block; ++k) sums[k] += row[k] * value;
            }
            for (int k = 0; k < block; ++k) next[first + k] = rewards[first + k] + gamma * sums[k];
        }
        for (int x = 0; x < states; ++x) {
            double best = next[x * actions];
            for (int u = 1; u < actions; ++u) {
                const double value = next[x * actions + u];
                best = value > best ? value : best;
            }
            values[x] = best;
        }
    }
    return sweeps;
}
