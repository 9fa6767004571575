// SPDX-License-Identifier: MIT
// The smallest program with a function of its own. It is linked statically in two ways.
__attribute__((noinline)) int small_function(int n)
{
	__asm__ volatile("");
	return n + 1;
}

int main(void)
{
	return small_function(-1);
}
