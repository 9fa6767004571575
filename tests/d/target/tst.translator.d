/*
 * A translator may translate from a struct of the target.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
struct shown {
	string name;
	int sum;
};
translator struct shown < struct a.out`record *r > {
	name = stringof(r->name);
	sum = r->at.x + r->at.y;
};
pid$target:a.out:visit:entry
/!done++/
{
	printf("%s %d\n", xlate <struct shown> (args[0]).name,
	    xlate <struct shown *> (args[0])->sum);
}
