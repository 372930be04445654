// The loop of cups and the random agent, by hand: the yardstick of benchmarks/loop.py.
//
// It does all that the compiled loop does: the first reward, an observation for the agent before
// every action, checks of the action, the delay and the reward, the agent's delay or the clock's
// tick, the end of the time, and a reward and a time written down for every interaction.

#include <cmath>
#include <cstdint>

#include "chance.hpp"

namespace {

constexpr int64_t longest_delay = 1000000000000000;  // a million seconds

struct Cups {
    int64_t *__restrict colours;
    const int64_t *__restrict initial;
    int64_t count;
    int64_t turns;
    int64_t turn;

    double reset() {
        for (int64_t cup = 0; cup < count; ++cup) colours[cup] = initial[cup];
        turn = 0;
        return 0.0;
    }

    double step(int64_t action) {
        colours[action] ^= 1;
        if (++turn == turns) turn = 0;
        if (turn < count) colours[turn] ^= 1;
        int64_t white = 0;
        for (int64_t cup = 0; cup < count; ++cup) white += colours[cup];
        return white == count ? 1.0 : white == 0 ? -1.0 : 0.0;
    }

    void observe(int64_t *__restrict out) const {
        for (int64_t cup = 0; cup < count; ++cup) out[cup] = colours[cup];
    }
};

struct RandomAgent {
    Chance chance;
    int64_t actions;
    int64_t pace;

    int64_t act(double, const int64_t *) { return chance.below(actions); }
    int64_t delay() const { return pace; }
};

}  // namespace

// Runs `exercises` exercises one after the other. Exercise e has the cups sizes[e] places long
// from where the one before it ended. Returns how many interactions there were.
extern "C" int64_t run(int64_t exercises, const int64_t *sizes, const int64_t *turns,
                       int64_t *colours, const int64_t *initial, const uint64_t *seeds,
                       int64_t pace, int64_t tick, int64_t most, int64_t end,
                       int64_t *scratch, double *rewards, int64_t *times) {
    int64_t done = 0;
    for (int64_t e = 0; e < exercises; ++e) {
        Cups cups{colours, initial, sizes[e], turns[e], 0};
        RandomAgent agent{{seeds[e]}, sizes[e], pace};
        double reward = cups.reset();
        cups.observe(scratch);
        int64_t now = 0;
        for (int64_t count = 0; count < most; ++count) {
            const int64_t action = agent.act(reward, scratch);
            if (action < 0 || action >= cups.count) break;
            const int64_t declared = agent.delay();
            if (declared > longest_delay) break;
            const int64_t delay = declared > 0 ? declared : tick;
            if (delay > end - now) break;
            now += delay;
            reward = cups.step(action);
            if (!std::isfinite(reward)) break;
            rewards[done] = reward;
            times[done] = now;
            cups.observe(scratch);
            ++done;
        }
        colours += sizes[e];
        initial += sizes[e];
    }
    return done;
}
