// split_stack THREADS: runs threads whose stacks grow in segments (-fsplit-stack).
// Prints how many times each function is called.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) long deep(long n)
{
	volatile char block[600];
	block[n % 600] = (char)n;
	if (n == 0)
		return block[0];
	return deep(n - 1) + block[n % 600];
}
__attribute__((noinline)) long small(long a, long b) { return a * 3 + b; }
static void *run(void *arg)
{
	long sum = 0;
	for (long i = 0; i < 20; i++)
		sum += deep(300) + small(i, (long)arg);
	return (void *)sum;
}
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10, sum = 0;
	for (long i = 0; i < n; i++) {
		pthread_t t;
		void *r;
		pthread_attr_t a;
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 65536);
		if (pthread_create(&t, &a, run, (void *)i)) return 1;
		pthread_join(t, &r);
		sum += (long)r;
	}
	printf("deep %ld\nsmall %ld\nsum %ld\n", n * 20 * 301, n * 20, sum);
}
