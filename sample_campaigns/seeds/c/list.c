typedef unsigned long size_t;
void *malloc(size_t n);
void free(void *at);

struct node {
  int value;
  struct node *next;
};

static struct node *push(struct node *head, int value) {
  struct node *fresh = malloc(sizeof *fresh);
  if (!fresh) return head;
  fresh->value = value;
  fresh->next = head;
  return fresh;
}

int main(void) {
  struct node *head = 0;
  for (int i = 0; i < 10; i++) head = push(head, i * i);
  int sum = 0;
  while (head) {
    struct node *next = head->next;
    sum += head->value;
    free(head);
    head = next;
  }
  return sum == 285 ? 0 : 1;
}
