/*
 * usym(), ufunc(), umod() and uaddr() print the name of the symbol, function or module that contains an address.
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @replace: \+0x[0-9a-f]+ -> +OFF
 * @replace: [ ]+$ -> 
 * @flags: -q
 */
pid$target:a.out:work:entry / arg0 == 2 /
{
	usym(uregs[R_PC]); printf("\n");
	ufunc(ucaller); printf("\n");
	umod(ucaller); printf("\n");
	uaddr(uregs[R_PC]); printf("\n");
	uaddr(ucaller); printf("\n");
	printf("%A\n", uregs[R_PC]);
}
