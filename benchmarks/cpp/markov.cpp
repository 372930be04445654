// Markov algorithms, by hand: the yardstick of benchmarks/markov.py.
//
// It interprets the same compiled rules as `rewrite` of universal/machine.py, step by step as the
// definition says: for each rule in turn the whole text is searched.

#include <algorithm>
#include <cstdint>

namespace {

constexpr int64_t fields = 8;
enum { left, left_length, right, right_length, final_, saved, recalls, stores };
constexpr int64_t recall = -2;

struct Machine {
    const int64_t *__restrict rules;
    const int64_t *__restrict symbols;
    int64_t count;
    int64_t *__restrict text;
    int64_t *__restrict memory;
    int64_t room;
    int64_t length = 0;
    int64_t kept = 0;

    int64_t place_of(const int64_t *rule, bool rightmost) const {
        const int64_t *wanted = symbols + rule[left], size = rule[left_length];
        const int64_t last = length - size;
        for (int64_t number = 0; number <= last; ++number) {
            const int64_t at = rightmost ? last - number : number;
            int64_t same = 0;
            while (same < size && text[at + same] == wanted[same]) ++same;
            if (same == size) return at;
        }
        return -1;
    }

    int64_t run(int64_t most, bool rightmost) {
        for (int64_t steps = 0; steps < most; ++steps) {
            const int64_t *rule = rules;
            int64_t at = -1;
            for (; rule < rules + count * fields; rule += fields)
                if ((at = place_of(rule, rightmost)) >= 0) break;
            if (at < 0) return steps;
            const int64_t known = rule[saved] >= 0 ? 1 : kept, end = at + rule[left_length];
            const int64_t growth = rule[right_length] - rule[stores] +
                                   rule[recalls] * (known - 1) - rule[left_length];
            if (length + growth > room) return steps;
            if (rule[saved] >= 0) memory[0] = rule[saved], kept = 1;
            if (growth > 0) std::copy_backward(text + end, text + length, text + length + growth);
            if (growth < 0) std::copy(text + end, text + length, text + end + growth);
            length += growth;
            int64_t *out = text + at;
            for (int64_t number = 0; number < rule[right_length]; ++number) {
                const int64_t symbol = symbols[rule[right] + number];
                if (symbol >= 0) *out++ = symbol;
                if (symbol == recall) out = std::copy(memory, memory + kept, out);
            }
            if (rule[stores]) std::copy(text, text + length, memory), kept = length;
            if (rule[final_]) return steps + 1;
        }
        return most;
    }
};

}  // namespace

// Carries out a program so many times, each time for the same input; returns the number of steps.
extern "C" int64_t run(const int64_t *rules, const int64_t *symbols, const int64_t *input,
                       int64_t *text, int64_t *memory, int64_t count, int64_t size, int64_t room,
                       int64_t rightmost, int64_t most, int64_t runs) {
    int64_t steps = 0;
    for (int64_t number = 0; number < runs; ++number) {
        std::copy(input, input + size, text);
        Machine machine{rules, symbols, count, text, memory, room, size};
        steps += machine.run(most, rightmost);
    }
    return steps;
}
