/*
 * A function in the target can be named as MODULE`FUNCTION. Its value is its address.
 * @command: stages
 * @replace: ^main saw.*\n ->
 * @flags: -q
 */
pid$target:a.out:main:entry { printf("%d\n", &a.out`main == (void *)uregs[R_PC]); }
