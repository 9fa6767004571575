/* SPDX-License-Identifier: MIT */
/*
 * Static probes (USDT) that a program makes while it runs: for interpreters and JITs, whose
 * probes no compiler has seen. Library: -ldtrace-usdt.
 *
 *   static const struct dtrace_usdt_probe *query_start;
 *
 *   struct dtrace_usdt_provider *provider = dtrace_usdt_create("app", NULL);
 *   dtrace_usdt_add(provider, "parse", "query-start", "string, int32_t", &query_start);
 *   if (dtrace_usdt_load(provider) != 0)
 *       warn(dtrace_usdt_error());              and continue: the probes are off then
 *
 *   DTRACE_USDT_FIRE(query_start, text, length);
 *
 *   # dtrace -n 'app*:::query-start { trace(copyinstr(arg0)); }' -p PID
 *
 * A provider becomes a shared object in memory, with the notes of SystemTap's <sys/sdt.h>,
 * and is loaded like any library: gdb and bpftrace find its probes as well.
 *
 * A probe that nobody traces costs the test of a counter; its arguments are not made.
 *
 * Threads: any number may test and fire, also while tracers come and go. What makes,
 * loads and destroys one provider is for one thread at a time; different providers do not
 * meet. No function here is for signal handlers, but those that test and fire are.
 *
 * After fork() the child has the probes too. Who traces is counted for each process.
 */
#ifndef DTRACE_USDT_H
#define DTRACE_USDT_H

#ifndef __x86_64__
#error "dtrace/usdt.h knows x86-64 only"
#endif

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DTRACE_USDT_MAX_ARGUMENTS = 12 };

/* Made by the library; read by what is inline here. */
struct dtrace_usdt_probe {
	volatile uint16_t n_tracers; /* who traces now; tracers change it */
	uint16_t n_arguments;
	uint32_t reserved;
	void (*reach)(const uint64_t *arguments); /* where tracers stand */
};

struct dtrace_usdt_provider;

/**
 * dtrace_usdt_create - a provider without probes
 * @provider: as D names it without the pid: a letter or _, then letters, digits and _, the
 *	last of them no digit; at most 55 bytes, and none of DTrace's own: pid, profile, ...
 * @module: the probes' module, any visible ASCII without : and /, at most 63 bytes, not . or ..; NULL:
 *	like the provider
 *
 * Names are copied. Others may have the same name. NULL and dtrace_usdt_error(): a name
 * that cannot be, or no memory.
 */
struct dtrace_usdt_provider *dtrace_usdt_create(const char *provider, const char *module);

/**
 * dtrace_usdt_add - a probe that the next dtrace_usdt_load() makes
 * @function: the probe's function, any visible ASCII without :, at most 127 bytes; NULL:
 *	like the probe
 * @name: a letter or _, then letters, digits, _ and -, at most 63 bytes. D shows __ as -;
 *	a - becomes __ in the note.
 * @arguments: types with blanks or commas between, at most 12: int8_t, int16_t, int32_t,
 *	int64_t, uint8_t, uint16_t, uint32_t, uint64_t, pointer, string (ends in a zero byte),
 *	double. NULL and "": none.
 * @probe: becomes a probe that is off, then what the load makes, and one that is off again
 *	when the provider is destroyed. It must live as long as the provider.
 *
 * Probes of one function and one name are one to D, with several places. 0, or EINVAL:
 * names or types that cannot be; ENOMEM; E2BIG: a million for one load. Nothing is added
 * then, and @probe is one that is off.
 */
int dtrace_usdt_add(struct dtrace_usdt_provider *provider, const char *function,
		    const char *name, const char *arguments,
		    const struct dtrace_usdt_probe **probe);

/**
 * dtrace_usdt_load - make what was added since the last load
 *
 * Tracers see the probes from then on. A descriptor stays open (close-on-exec) for those
 * who read the file by it; closing it harms only them. 0, or the errno of what failed: no
 * memory, or neither memory nor $TMPDIR (/tmp) may hold code that runs. The probes are off
 * then, and may be loaded again.
 */
int dtrace_usdt_load(struct dtrace_usdt_provider *provider);

/**
 * dtrace_usdt_destroy - unload and forget
 *
 * No thread may test or fire one of its probes meanwhile; afterwards they are off. Tracers
 * see a library that is unloaded. NULL is nothing.
 */
void dtrace_usdt_destroy(struct dtrace_usdt_provider *provider);

/**
 * dtrace_usdt_error - a sentence on the last failure
 *
 * Of this thread, until its next one. "" when there was none.
 */
const char *dtrace_usdt_error(void);

/* Whether somebody traces the probe now. */
static inline int dtrace_usdt_enabled(const struct dtrace_usdt_probe *probe)
{
	return __builtin_expect(probe->n_tracers != 0, 0);
}

/*
 * Reaches the probe, traced or not. One word for each argument that it has: integers
 * extended to 64 bits, pointers, the bits of a double. They must stay for the call only.
 */
static inline void dtrace_usdt_fire(const struct dtrace_usdt_probe *probe,
				    const uint64_t *arguments)
{
	probe->reach(arguments);
}

/* Fewer values than arguments. */
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
	"a value of a static probe has at most 8 bytes: convert a long double to double"

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
#define DTRACE_USDT_FITS_(x) /* 0, or no compiling; arrays are pointers */     \
	(0 * __extension__ sizeof(struct {                                     \
		char dt_c;                                                     \
		_Static_assert(sizeof(__typeof__((void)0, (x))) <= 8,           \
		    DTRACE_USDT_REFUSAL_);                                     \
	}))
#endif

/*
 * DTRACE_USDT_FIRE(probe, values...): fires when somebody traces; only then the values are
 * looked at. Integers, enumerations, pointers, arrays (their address), float and double.
 * Values that are missing are 0; more than 12 do not compile, nor does long double.
 *
 * A value becomes a word by its own type in C, since the probe's is not known here: an int is
 * no double, though the probe may have one. For that write 1.0 or (double)n, and an integer
 * for an integer.
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
