/* SPDX-License-Identifier: MIT */
/*
 * Static probes (USDT) that a program creates while it runs, for interpreters
 * and JITs. Link with -ldtrace-usdt.
 *
 *   static const struct dtrace_usdt_probe *query_start;
 *
 *   struct dtrace_usdt_provider *provider = dtrace_usdt_create("app", NULL);
 *   dtrace_usdt_add(provider, "parse", "query-start", "string, int32_t", &query_start);
 *   if (dtrace_usdt_load(provider) != 0)
 *       warn(dtrace_usdt_error());              and continue: the probes are off
 *
 *   DTRACE_USDT_FIRE(query_start, text, length);
 *
 *   # dtrace -n 'app*:::query-start { trace(copyinstr(arg0)); }' -p PID
 *
 * A provider becomes a shared object in memory, with the notes of SystemTap's
 * <sys/sdt.h>. So gdb and bpftrace find its probes as well. A probe that is not
 * traced costs only the test of a counter.
 *
 * Any number of threads may test and fire probes, also while tracers attach and
 * detach. Only one thread at a time may create, load or destroy a provider, but
 * different providers are independent. Signal handlers may only test and fire
 * probes.
 *
 * After fork() the child has the probes too. Tracers are counted per process.
 */
#ifndef DTRACE_USDT_H
#define DTRACE_USDT_H

#ifndef __x86_64__
#error "dtrace/usdt.h supports only x86-64"
#endif

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DTRACE_USDT_MAX_ARGUMENTS = 12 };

/* The library creates this struct. The inline functions below read it. */
struct dtrace_usdt_probe {
	/* the number of tracers; the tracers update it */
	volatile uint16_t n_tracers;
	uint16_t n_arguments;
	uint32_t reserved;
	/* tracers patch this function */
	void (*reach)(const uint64_t *arguments);
};

struct dtrace_usdt_provider;

/**
 * dtrace_usdt_create - creates a provider without probes
 * @provider: the provider's name in D without the pid: a letter or _, then letters,
 * digits and _; it must not end in a digit; at most 55 bytes. DTrace's own names
 * (pid, profile, ...) are not allowed.
 * @module: the probes' module: any visible ASCII except : and /, at most 63 bytes, not
 * . or ..; NULL: the same as the provider
 *
 * Names are copied. Several providers may have the same name. Returns NULL and sets
 * dtrace_usdt_error() if a name is not valid or there is not enough memory.
 */
struct dtrace_usdt_provider *dtrace_usdt_create(const char *provider, const char *module);

/**
 * dtrace_usdt_add - adds a probe, which the next dtrace_usdt_load() creates
 * @function: the probe's function: any visible ASCII except :, at most 127
 * bytes; NULL: the probe's name, in which __ replaces each -
 * @name: a letter or _, then letters, digits, _ and -, at most 63 bytes, where each -
 * counts as two, because __ replaces it in the note. In D, __ is shown as -.
 * @arguments: at most 12 types, separated by spaces or commas: int8_t, int16_t,
 * int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, pointer, string
 * (ends in a zero byte), double. NULL or "" means no arguments.
 * @probe: a variable that must stay valid until the provider is destroyed. It points to
 * the real probe after dtrace_usdt_load(). Before the load, and after
 * dtrace_usdt_destroy(), it points to a probe that is off.
 *
 * If several probes have the same function and name, they are a single probe in D,
 * which fires whenever one of them fires. Returns 0, or EINVAL (a name or type is not
 * valid), ENOMEM, or E2BIG (more than 2^20 probes for one load). On error, no probe is
 * added, and @probe is set to a probe that is off.
 */
int dtrace_usdt_add(struct dtrace_usdt_provider *provider, const char *function,
		    const char *name, const char *arguments,
		    const struct dtrace_usdt_probe **probe);

/**
 * dtrace_usdt_load - creates the probes that were added since the last load
 *
 * Tracers can find the probes from then on. The probes are in a file, whose
 * descriptor stays open (close-on-exec) because tracers read the file through it. If
 * the program closes the descriptor, only tracers are affected.
 *
 * Returns 0 or an errno. The load fails if memory runs out, or if executable code is
 * permitted neither in memory files nor in $TMPDIR (/tmp). On failure, the probes are
 * off, and the call may be repeated.
 */
int dtrace_usdt_load(struct dtrace_usdt_provider *provider);

/**
 * dtrace_usdt_destroy - unloads a provider and frees it
 *
 * No thread may test or fire one of its probes at the same time. Afterwards, the probes
 * are off. To tracers, this looks as if a library were unloaded. NULL has no effect.
 */
void dtrace_usdt_destroy(struct dtrace_usdt_provider *provider);

/**
 * dtrace_usdt_error - returns a message that describes the last failure
 *
 * Only failures in the calling thread count. The message is valid until the next
 * failure in this thread. It is "" if there was no failure.
 */
const char *dtrace_usdt_error(void);

/* Returns whether the probe is traced now. */
static inline int dtrace_usdt_enabled(const struct dtrace_usdt_probe *probe)
{
	return __builtin_expect(probe->n_tracers != 0, 0);
}

/*
 * Calls the probe's code. Pass one word for each argument: an integer extended
 * to 64 bits, a pointer, or the bits of a double. Pointers must stay valid
 * during the call.
 */
static inline void dtrace_usdt_fire(const struct dtrace_usdt_probe *probe,
				    const uint64_t *arguments)
{
	probe->reach(arguments);
}

/* Fires a probe that has more arguments than n. The missing values are 0. */
__attribute__((noinline, cold, unused)) static void
dtrace_usdt_fire_filled_(const struct dtrace_usdt_probe *probe, const uint64_t *values,
			 int n)
{
	uint64_t all[DTRACE_USDT_MAX_ARGUMENTS];

	for (int i = 0; i < DTRACE_USDT_MAX_ARGUMENTS; i++)
		all[i] = i < n ? values[i] : 0;
	dtrace_usdt_fire(probe, all);
}

static inline uint64_t dtrace_usdt_double(double value)
{
	uint64_t bits;

	__builtin_memcpy(&bits, &value, sizeof bits);
	return bits;
}

#define DTRACE_USDT_REFUSAL_                                                   \
	"an argument of a static probe can have at most 8 bytes: "              \
	"convert a long double to double"

#ifdef __cplusplus
} // extern "C"

static inline uint64_t dtrace_usdt_word(double value) { return dtrace_usdt_double(value); }
static inline uint64_t dtrace_usdt_word(float value) { return dtrace_usdt_double(value); }
template <class T> static inline uint64_t dtrace_usdt_word(T value)
{
#if __cplusplus >= 201103L
	static_assert(sizeof(T) <= 8, DTRACE_USDT_REFUSAL_);
#endif
	return (uint64_t)value;
}
#else
#define dtrace_usdt_word(x)                                                    \
	_Generic((x),                                                          \
	    float: dtrace_usdt_double(_Generic((x), float: (x), default: 0)),  \
	    double: dtrace_usdt_double(_Generic((x), double: (x), default: 0)), \
	    default: (uint64_t)(x) + DTRACE_USDT_FITS_(x))
/*
 * 0, or a compile error if x has more than 8 bytes. The comma operator converts an
 * array to a pointer.
 */
#define DTRACE_USDT_FITS_(x)                                                   \
	(0 * __extension__ sizeof(struct {                                     \
		char dt_c;                                                     \
		_Static_assert(sizeof(__typeof__((void)0, (x))) <= 8,           \
		    DTRACE_USDT_REFUSAL_);                                     \
	}))
#endif

/*
 * If the probe is traced, DTRACE_USDT_FIRE(probe, values...) evaluates the
 * values and fires the probe. Values may be integers, enumerations, pointers,
 * arrays (as their address), float and double. Missing values are 0. At most 12
 * values are allowed.
 *
 * An int is not converted to a double. Write 1.0 or (double)n for a double.
 */
#define DTRACE_USDT_FIRE(...)                                                  \
	DTRACE_USDT_PICK_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ) \
	(__VA_ARGS__)
#define DTRACE_USDT_PICK_(p, a, b, c, d, e, f, g, h, i, j, k, l, n, ...)       \
	DTRACE_USDT_FIRE##n##_

#define DTRACE_USDT_REACH_(probe, ...)                                         \
	do {                                                                   \
		const struct dtrace_usdt_probe *dt_usdt_probe_ = (probe);      \
		if (dtrace_usdt_enabled(dt_usdt_probe_)) {                     \
			const uint64_t dt_usdt_words_[] = {__VA_ARGS__};       \
			const int dt_usdt_n_ =                                 \
			    (int)(sizeof dt_usdt_words_ / sizeof(uint64_t));   \
			if (dt_usdt_n_ >= dt_usdt_probe_->n_arguments)         \
				dtrace_usdt_fire(dt_usdt_probe_, dt_usdt_words_); \
			else                                                   \
				dtrace_usdt_fire_filled_(                      \
				    dt_usdt_probe_, dt_usdt_words_, dt_usdt_n_); \
		}                                                              \
	} while (0)
#define DTRACE_USDT_W_ dtrace_usdt_word
#define DTRACE_USDT_FIRE0_(p)                                                  \
	DTRACE_USDT_REACH_(p, 0)
#define DTRACE_USDT_FIRE1_(p, a)                                               \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a))
#define DTRACE_USDT_FIRE2_(p, a, b)                                            \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b))
#define DTRACE_USDT_FIRE3_(p, a, b, c)                                         \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c))
#define DTRACE_USDT_FIRE4_(p, a, b, c, d)                                      \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d))
#define DTRACE_USDT_FIRE5_(p, a, b, c, d, e)                                   \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d), DTRACE_USDT_W_(e))
#define DTRACE_USDT_FIRE6_(p, a, b, c, d, e, f)                                \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d), DTRACE_USDT_W_(e),           \
	    DTRACE_USDT_W_(f))
#define DTRACE_USDT_FIRE7_(p, a, b, c, d, e, f, g)                             \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d), DTRACE_USDT_W_(e),           \
	    DTRACE_USDT_W_(f), DTRACE_USDT_W_(g))
#define DTRACE_USDT_FIRE8_(p, a, b, c, d, e, f, g, h)                          \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d), DTRACE_USDT_W_(e),           \
	    DTRACE_USDT_W_(f), DTRACE_USDT_W_(g), DTRACE_USDT_W_(h))
#define DTRACE_USDT_FIRE9_(p, a, b, c, d, e, f, g, h, i)                       \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d), DTRACE_USDT_W_(e),           \
	    DTRACE_USDT_W_(f), DTRACE_USDT_W_(g), DTRACE_USDT_W_(h),           \
	    DTRACE_USDT_W_(i))
#define DTRACE_USDT_FIRE10_(p, a, b, c, d, e, f, g, h, i, j)                   \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d), DTRACE_USDT_W_(e),           \
	    DTRACE_USDT_W_(f), DTRACE_USDT_W_(g), DTRACE_USDT_W_(h),           \
	    DTRACE_USDT_W_(i), DTRACE_USDT_W_(j))
#define DTRACE_USDT_FIRE11_(p, a, b, c, d, e, f, g, h, i, j, k)                \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d), DTRACE_USDT_W_(e),           \
	    DTRACE_USDT_W_(f), DTRACE_USDT_W_(g), DTRACE_USDT_W_(h),           \
	    DTRACE_USDT_W_(i), DTRACE_USDT_W_(j), DTRACE_USDT_W_(k))
#define DTRACE_USDT_FIRE12_(p, a, b, c, d, e, f, g, h, i, j, k, l)             \
	DTRACE_USDT_REACH_(p, DTRACE_USDT_W_(a), DTRACE_USDT_W_(b),            \
	    DTRACE_USDT_W_(c), DTRACE_USDT_W_(d), DTRACE_USDT_W_(e),           \
	    DTRACE_USDT_W_(f), DTRACE_USDT_W_(g), DTRACE_USDT_W_(h),           \
	    DTRACE_USDT_W_(i), DTRACE_USDT_W_(j), DTRACE_USDT_W_(k),           \
	    DTRACE_USDT_W_(l))

#endif /* DTRACE_USDT_H */
