// The loop of Lambda and Q-learning, by hand: the yardstick of benchmarks/lambda_loop.py.
//
// It has the rules of the class, chosen by parameters as there, for one agent that sees who is in
// which cell. It does all that the compiled loop does: an observation for the agent before every
// action, checks of the action and the reward, the clock, the end of the time, and a reward and a
// time written down for every interaction.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "chance.hpp"

namespace {

// What an environment is made of, as Python gives it.
struct LambdaParameters {
    int64_t cells, actions;
    int64_t consumed_after, vanish, beside, cycle, warm_up;
    double division;
    const int64_t *paths;
    int64_t pattern_length, good_rewards, evil_rewards, objects;
    const int64_t *pattern;
    const double *good, *evil;
    const int64_t *behaviours, *scripts, *script_at;
    uint64_t seed;
};

struct QParameters {
    double alpha, gamma, initial, lowest, exploration;
    int64_t first;
    uint64_t seed;
};

enum Behaviour { random_walk, still, pattern };

// One item after the other, and then from the beginning again.
template <class Item>
struct Round {
    const Item *items;
    int64_t length;
    int64_t now = 0;

    Item current() const { return items[now]; }
    void turn() {
        if (++now == length) now = 0;
    }
};

struct Object {
    int64_t behaviour;
    Round<int64_t> script;
    int64_t cell;
};

class Lambda {
  public:
    explicit Lambda(const LambdaParameters &given)
        : rules(given), chance{given.seed}, seating{0}, moves{given.pattern, given.pattern_length},
          good_drops{given.good, given.good_rewards}, evil_drops{given.evil, given.evil_rewards},
          rewards(given.cells) {
        for (int64_t k = 0; k < given.objects; ++k) {
            const int64_t *script = given.scripts + given.script_at[k];
            const int64_t length = given.script_at[k + 1] - given.script_at[k];
            objects.push_back({given.behaviours[k], {script, length}, 0});
        }
    }

    double reset() {
        seating.state = chance.bits();
        do {
            good = chance.below(rules.cells);
            evil = chance.below(rules.cells);
        } while (good == evil);
        for (Object &object : objects) object.cell = chance.below(rules.cells);
        own = seating.below(rules.cells);
        draw_swap();
        drop();
        warm_up();
        return 0.0;
    }

    double step(int64_t action) {
        const int64_t last_good = good, last_evil = evil;
        move_good_and_evil();
        own = rules.paths[own * rules.actions + action];
        for (Object &object : objects) move(object);
        good_drops.turn();
        evil_drops.turn();
        double reward;
        if (rules.consumed_after) {
            fade(last_good, last_evil);
            drop();
            reward = consume();
        } else {
            reward = consume();
            fade(last_good, last_evil);
        }
        if (--until_swap == 0) {
            std::swap(good, evil);
            draw_swap();
        }
        drop();
        return reward;
    }

    void observe(int64_t *out) const {
        *out++ = good;
        *out++ = evil;
        *out++ = own;
        for (const Object &object : objects) *out++ = object.cell;
    }

    int64_t actions() const { return rules.actions; }
    int64_t places() const { return 3 + rules.objects; }
    int64_t cells() const { return rules.cells; }

  private:
    void draw_swap() { until_swap = rules.cycle > 0 ? 1 + chance.below(rules.cycle) : -1; }

    void warm_up() {
        int64_t count = rules.warm_up;
        if (count < 0) count = std::min<int64_t>(1 + chance.below(rules.cycle), 10000);
        while (count-- > 0) step(seating.below(rules.actions));
    }

    // Both do the same, and never share a cell.
    void move_good_and_evil() {
        const int64_t action = moves.current();
        moves.turn();
        const int64_t new_good = rules.paths[good * rules.actions + action];
        const int64_t new_evil = rules.paths[evil * rules.actions + action];
        if (new_good != new_evil) {
            good = new_good;
            evil = new_evil;
        } else if (new_good != good) {
            if (new_evil == evil) return;
            if ((chance.below(2) == 0) == (good < evil))
                evil = new_evil;
            else
                good = new_good;
        }
    }

    void move(Object &object) {
        int64_t action = 0;
        if (object.behaviour == random_walk) {
            action = chance.below(rules.actions);
        } else if (object.behaviour == pattern) {
            action = object.script.current();
            object.script.turn();
        }
        object.cell = rules.paths[object.cell * rules.actions + action];
    }

    void drop() {
        if (rules.beside || own != good) rewards[good] = good_drops.current();
        if (rules.beside || own != evil) rewards[evil] = -evil_drops.current();
    }

    double consume() {
        const double reward = rewards[own];
        if (rules.vanish) rewards[own] = 0.0;
        return reward;
    }

    void fade(int64_t last_good, int64_t last_evil) {
        if (rules.division == std::numeric_limits<double>::infinity()) {
            rewards[last_good] = 0.0;
            rewards[last_evil] = 0.0;
        } else if (rules.division != 1.0) {
            for (double &reward : rewards) reward /= rules.division;
        }
    }

    const LambdaParameters rules;
    Chance chance, seating;
    Round<int64_t> moves;
    Round<double> good_drops, evil_drops;
    std::vector<double> rewards;
    std::vector<Object> objects;
    int64_t good = 0, evil = 0, own = 0, until_swap = 0;
};

class QLearning {
  public:
    QLearning(const QParameters &given, int64_t places, int64_t cells, int64_t actions)
        : rules(given), chance{given.seed}, places(places), cells(cells), actions(actions) {
        int64_t observations = 1;
        for (int64_t k = 0; k < places; ++k) observations *= cells;
        table.assign(observations * actions, given.initial);
    }

    int64_t act(double reward, const int64_t *observation) {
        const int64_t row = row_of(observation);
        Best best = best_in(row);
        learn(reward, best.value);
        if (row <= last && last < row + actions) best = best_in(row);
        const int64_t action = choose(row, best);
        last = row + action;
        return action;
    }

    void finish(double reward, const int64_t *observation) {
        learn(reward, best_in(row_of(observation)).value);
    }

  private:
    struct Best {
        double value;
        int64_t first, alike;
    };

    int64_t row_of(const int64_t *observation) const {
        int64_t key = 0;
        for (int64_t k = 0; k < places; ++k) key = key * cells + observation[k];
        return key * actions;
    }

    Best best_in(int64_t row) const {
        Best best{table[row], 0, 1};
        for (int64_t action = 1; action < actions; ++action) {
            const double value = table[row + action];
            if (value > best.value)
                best = {value, action, 1};
            else if (value == best.value)
                ++best.alike;
        }
        return best;
    }

    void learn(double reward, double worth) {
        if (last < 0) return;
        const double learnt = reward - rules.lowest + rules.gamma * worth;
        table[last] += rules.alpha * (learnt - table[last]);
    }

    int64_t choose(int64_t row, const Best &best) {
        if (rules.exploration > 0 && chance.uniform() < rules.exploration)
            return chance.below(actions);
        if (rules.first || best.alike == 1) return best.first;
        int64_t action = best.first;
        for (int64_t skipped = chance.below(best.alike); skipped > 0;)
            if (table[row + ++action] == best.value) --skipped;
        return action;
    }

    const QParameters rules;
    Chance chance;
    const int64_t places, cells, actions;
    int64_t last = -1;
    std::vector<double> table;
};

}  // namespace

// Runs `exercises` exercises one after the other. Returns how many interactions there were.
extern "C" int64_t run(int64_t exercises, const LambdaParameters *environments,
                       const QParameters *agents, int64_t tick, int64_t most, int64_t end,
                       double *rewards, int64_t *times) {
    int64_t done = 0;
    std::vector<int64_t> observation;
    for (int64_t e = 0; e < exercises; ++e) {
        Lambda environment(environments[e]);
        QLearning agent(agents[e], environment.places(), environment.cells(),
                        environment.actions());
        observation.resize(environment.places());
        double reward = environment.reset();
        environment.observe(observation.data());
        int64_t now = 0;
        bool fault = false;
        for (int64_t count = 0; count < most; ++count) {
            const int64_t action = agent.act(reward, observation.data());
            fault = action < 0 || action >= environment.actions();
            if (fault || tick > end - now) break;
            now += tick;
            reward = environment.step(action);
            fault = !std::isfinite(reward);
            if (fault) break;
            rewards[done] = reward;
            times[done] = now;
            environment.observe(observation.data());
            ++done;
        }
        if (!fault) agent.finish(reward, observation.data());
    }
    return done;
}
