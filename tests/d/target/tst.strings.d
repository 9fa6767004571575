/*
 * Strings of the target need no copyinstr() in subroutines, comparisons and keys.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/args[0]->name == "second" && stringof(args[0]->text) == "text of second"/
{
	printf("%d %d %s\n", strlen(args[0]->name), strlen(args[0]->text),
	    strjoin(args[0]->name, args[2]));
	printf("%s %d\n", substr(args[0]->text, 8), index(args[0]->text, "of"));
	@[args[0]->name, stringof(args[0]->text)] = count();
}
