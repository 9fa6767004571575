/*
 * A linked list of the target can be followed from one of the target's variables.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/!done++/
{
	printf("%s %s %d\n", a.out`head->name, a.out`head->next->name,
	    a.out`head->next->next == NULL);
	self->r = a.out`head;
	printf("%s\n", stringof(self->r->next->text));
	first[args[0]->name] = args[0]->next;
	printf("%s\n", first["second"]->name);
	self->r = 0;
}
