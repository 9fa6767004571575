/*
 * Unsigned 32-bit arithmetic has the same results as in C. The first clause prints
 * what a C program would print.
 * @flags: -q
 */
uint32_t u, zero;
int minus;
uint64_t wide;

BEGIN
{
	printf("constants %d %d %d %d\n", -1u == 4294967295, ~0u == 4294967295,
	    0u - 1 == 4294967295, 4294967295u + 1 == 0);
	x = 4294967295;
	printf("assigned constant %d\n", x == -1u);
	u = -1;
	minus = -1;
	printf("equal to -1: %d %d %d\n", u == -1, -1 == u, u == minus);
	printf("order %d %d\n", minus < u, minus > zero);
	wide = ~zero;
	printf("complement %u\n", wide);
	wide = -(zero + 1);
	printf("negated %u\n", wide);
	wide = u + 1;
	printf("sum %u\n", wide);
	wide = zero - 1;
	printf("difference %u\n", wide);
	wide = u * u;
	printf("product %u\n", wide);
	wide = u << 4;
	printf("shift %u\n", wide);
	printf("divided %u %u\n", (zero - 1) / 2, minus / (zero + 2));
	printf("remainder %u\n", minus % (zero + 10));
	minus /= 2u;
	printf("divided in place %d\n", minus);
	wide = zero ? u : -1;
	printf("chosen %u\n", wide);
	printf("bits %d %d\n", (zero | -1) == 4294967295, (zero ^ -1) == 4294967295);
	printf("condition %d\n", u + 1 ? 1 : 0);
	@ = sum(zero - 1);
	printa("aggregated %@d\n", @);
}

/* Unlike in C, int arithmetic uses 64 bits. A shift by 32 bits or more also uses 64 bits. */
BEGIN
{
	wide = u << 32 | 1;
	printf("high half %x\n", wide);
	printf("int %d\n", 2147483647 + 1 == 2147483648);
	exit(0);
}
