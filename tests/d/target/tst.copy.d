/*
 * A struct of the target is copied to D variables, and its pointers still point into the target.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
struct a.out`point last;
pid$target:a.out:visit:entry
/!done++/
{
	this->copy = *args[0];
	last = args[0]->at;
	self->kept = args[0]->at;
	by_name[stringof(args[0]->name)] = args[0]->at;
}
pid$target:a.out:visit:return
/done == 1/
{
	printf("%d %d %d %d\n", last.x, self->kept.y, by_name["second"].x, sizeof (last));
	done++;
}
pid$target:a.out:visit:entry
{
	this->copy = *args[0];
	printf("%s %s %s %d %s\n", this->copy.name, this->copy.next->name,
	    stringof(this->copy.text), this->copy.grid[1][1], stringof(this->copy.words[1]));
}
