/*
 * D variables, members and array elements may have types of the target.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
a.out`record_t *seen;
struct pid$target`record *by_round[int];
struct mine {
	struct a.out`point at;
	a.out`record_t *of;
};
this struct mine mine;
struct a.out`point two[2];
this enum a.out`color hue;
pid$target:a.out:visit:entry
/!done++/
{
	seen = args[0];
	by_round[1] = args[0]->next;
	this->mine.at = args[0]->at;
	this->mine.of = args[0];
	this->hue = args[0]->color;
	two[1] = args[0]->at;
	printf("%d %d ", two[0].x, two[1].x);
	printf("%s %s %d %s %d\n", seen->name, by_round[1]->name, this->mine.at.y,
	    this->mine.of->name, this->hue);
}
