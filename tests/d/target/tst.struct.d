/*
 * Members of a struct of the target are read through a pointer to its type.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/!done++/
{
	this->r = (struct a.out`record *)arg0;
	printf("%s %s %d %d\n", this->r->name, stringof(this->r->text), this->r->at.x, this->r->at.y);
	printf("%d %d %d\n", this->r->inner, this->r->wide, this->r->ready);
	printf("%d %d\n", this->r->number.i, this->r->number.bytes[0]);
	printf("%.2f %.2f\n", this->r->weight, this->r->half);
	printf("%d\n", this->r->handler == this->r->next->handler);
}
