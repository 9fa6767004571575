/*
 * The target's arrays can be indexed, even arrays of arrays or of pointers, and arrays without a size.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/!done++/
{
	this->r = args[0];
	printf("%d %d %d\n", this->r->grid[0][0], this->r->grid[1][2], this->r->grid[1][arg1]);
	printf("%s %s\n", stringof(this->r->words[0]), stringof(this->r->next->words[2]));
	printf("%c%c\n", this->r->name[0], this->r->text[8]);
	printf("%d\n", sizeof (this->r->grid) / sizeof (this->r->grid[0][0]));
}
pid$target:a.out:walk:entry
/!walked++/
{
	printf("%d %d %d\n", args[0]->more[0], args[0]->more[1], args[0]->more[args[0]->n - 1]);
}
