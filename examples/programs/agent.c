/* An agent in C: a table of values for each observation, and now and then a random action.
 *
 *     cc -O2 -o agent agent.c
 *     omnimeter run --class cups --agent 'command(run="./agent")' --agent random
 *
 * It speaks the wire format (docs/wire.md): one JSON object per line, a reply to each request. It
 * needs no JSON library: the harness writes no spaces, and the few fields are found by their names.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 65536 /* observations that it can keep apart; others share a row */

static const double EPSILON = 0.1, STEP = 0.2, DISCOUNT = 0.5;

static uint64_t state;
static int actions;
static double *values; /* ROWS times actions */
static double *last;   /* the value of the last action; NULL before the first one */

/* A number from 0 to 1 that depends on the seed only (SplitMix64). */
static double uniform(void) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return (double)((mixed ^ (mixed >> 31)) >> 11) / 9007199254740992.0;
}

/* Where the value of a field begins. */
static const char *field(const char *line, const char *name) {
    const char *place = strstr(line, name);
    if (place == NULL) {
        fprintf(stderr, "There is no %s in: %s", name, line);
        exit(1);
    }
    return place + strlen(name);
}

static double best_of(const double *row) {
    double best = row[0];
    for (int each = 1; each < actions; each++)
        if (row[each] > best)
            best = row[each];
    return best;
}

/* The values of the actions at an observation, which is a number or a list of numbers. */
static double *row_of(const char *line) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *place = field(line, "\"observation\":"); *place && *place != '}'; place++)
        hash = (hash ^ (unsigned char)*place) * 1099511628211u;
    return values + (hash % ROWS) * (uint64_t)actions;
}

static void begin(const char *line) {
    actions = atoi(field(line, "\"actions\":"));
    state = strtoull(field(line, "\"seed\":"), NULL, 10);
    free(values);
    values = calloc((size_t)ROWS * (size_t)actions, sizeof *values);
    if (values == NULL)
        exit(1);
    last = NULL;
}

static int act(const char *line) {
    double *row = row_of(line), reward = strtod(field(line, "\"reward\":"), NULL);
    if (last != NULL)
        *last += STEP * (reward + DISCOUNT * best_of(row) - *last);
    double best = best_of(row);
    int explores = uniform() < EPSILON, action = 0, count = 0;
    for (int each = 0; each < actions; each++) /* any of the best ones, each as probable */
        if ((explores || row[each] == best) && uniform() * ++count < 1)
            action = each;
    last = row + action;
    return action;
}

int main(void) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        long turn = atol(field(line, "\"turn\":"));
        const char *type = field(line, "\"type\":\"");
        printf("{\"turn\":%ld,", turn);
        if (strncmp(type, "hello\"", 6) == 0) {
            printf("\"type\":\"hello\",\"wire\":1}\n");
        } else if (strncmp(type, "begin\"", 6) == 0) {
            begin(line);
            printf("\"type\":\"ready\"}\n");
        } else if (strncmp(type, "act\"", 4) == 0) {
            printf("\"type\":\"move\",\"action\":%d}\n", act(line));
        } else {
            printf("\"type\":\"finished\"}\n");
        }
        fflush(stdout); /* else the reply waits here, and the harness there */
    }
    return 0;
}
