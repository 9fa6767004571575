/*
 * At an offset inside a function, the registers have their values at that instruction.
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:ten:0 { printf("%d %d\n", uregs[R_RDI], uregs[R_RSI]); }
