/*
 * Bit-fields of a packed struct are read correctly even if they cross the boundaries of their types.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/!done++/
{
	this->p = &a.out`packed;
	printf("%d %d %d %d\n", this->p->c, this->p->crossing, this->p->beyond, this->p->last);
	this->copy = *this->p;
	printf("%d %d %d %d\n", this->copy.c, this->copy.crossing, this->copy.beyond,
	    this->copy.last);
	print(a.out`packed);
}
