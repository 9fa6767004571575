/*
 * Bit-fields of the target are read with their sign.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/!done++/
{
	this->r = (a.out`record_t *)arg0;
	printf("%d %d %d %d\n", this->r->low, this->r->middle, this->r->negative,
	    this->r->low + this->r->negative);
}
