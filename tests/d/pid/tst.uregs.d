/*
 * uregs[ ] has the values of the registers at the probe.
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:ten:entry
{
	printf("%d %d %d\n", uregs[R_RDI], uregs[R_RSI], uregs[R_R9]);
	printf("%d %d\n", uregs[R_PC] == uregs[R_RIP], uregs[R_SP] == uregs[R_RSP]);
}
