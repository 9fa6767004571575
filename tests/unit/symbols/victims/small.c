// SPDX-License-Identifier: MIT
// The smallest program with a function of its own. The build links it with -static and
// with -static-pie.
__attribute__((noinline)) int small_function(int n)
{
	__asm__ volatile("");
	return n + 1;
}

int main(void)
{
	return small_function(-1);
}
