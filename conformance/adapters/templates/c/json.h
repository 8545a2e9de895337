/* Just enough JSON for an adapter in C. Any library does as well; this one leaks nothing that it
 * need not: a document is freed as a whole, and what gradcts sends is well formed. */
#ifndef MY_JSON_H
#define MY_JSON_H

#include <stdlib.h>
#include <string.h>

enum json_kind { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };

struct json {
  enum json_kind kind;
  double number;      /* JSON_NUMBER; 0 or 1 for JSON_BOOLEAN */
  char* text;         /* JSON_TEXT */
  char* key;          /* of an entry of an object */
  struct json* first; /* entries of a list or an object */
  struct json* next;  /* the next entry of the same */
};

static void json_free(struct json* json) {
  while (json) {
    struct json* next = json->next;
    json_free(json->first);
    free(json->text);
    free(json->key);
    free(json);
    json = next;
  }
}

static void json_skip(const char** at) {
  while (**at == ' ' || **at == '\n' || **at == '\t' || **at == '\r') ++*at;
}

/* Names and ids have no escapes; titles, which nobody reads here, may: the escaped character is
 * kept. */
static char* json_read_text(const char** at) {
  const char* start = ++*at;
  while (**at && **at != '"') *at += **at == '\\' ? 2 : 1;
  const size_t size = (size_t)(*at - start);
  char* text = malloc(size + 1);
  memcpy(text, start, size);
  text[size] = 0;
  if (**at) ++*at;
  return text;
}

static struct json* json_read(const char** at);

static void json_read_entries(const char** at, struct json* owner, char end) {
  struct json** last = &owner->first;
  ++*at;
  for (json_skip(at); **at && **at != end; json_skip(at)) {
    if (**at == ',') {
      ++*at;
      continue;
    }
    char* key = NULL;
    if (owner->kind == JSON_OBJECT) {
      key = json_read_text(at);
      json_skip(at);
      ++*at; /* ':' */
    }
    *last = json_read(at);
    (*last)->key = key;
    last = &(*last)->next;
  }
  if (**at) ++*at;
}

static struct json* json_read(const char** at) {
  struct json* json = calloc(1, sizeof *json);
  json_skip(at);
  if (**at == '{') {
    json->kind = JSON_OBJECT;
    json_read_entries(at, json, '}');
  } else if (**at == '[') {
    json->kind = JSON_LIST;
    json_read_entries(at, json, ']');
  } else if (**at == '"') {
    json->kind = JSON_TEXT;
    json->text = json_read_text(at);
  } else if (**at == 't' || **at == 'f') {
    json->kind = JSON_BOOLEAN;
    json->number = **at == 't';
    *at += **at == 't' ? 4 : 5;
  } else if (**at == 'n') {
    *at += 4;
  } else {
    char* end;
    json->kind = JSON_NUMBER;
    json->number = strtod(*at, &end);
    *at = end > *at ? end : *at + 1;
  }
  return json;
}

/* NULL where there is no such field, or no object. */
static const struct json* json_field(const struct json* object, const char* key) {
  if (!object || object->kind != JSON_OBJECT) return NULL;
  for (const struct json* entry = object->first; entry; entry = entry->next) {
    if (strcmp(entry->key, key) == 0) return entry;
  }
  return NULL;
}

static const struct json* json_first(const struct json* object, const char* key) {
  const struct json* list = json_field(object, key);
  return list ? list->first : NULL;
}

static const char* json_text(const struct json* object, const char* key, const char* otherwise) {
  const struct json* field = json_field(object, key);
  return field && field->kind == JSON_TEXT ? field->text : otherwise;
}

static int json_size(const struct json* list) {
  int size = 0;
  for (const struct json* entry = list ? list->first : NULL; entry; entry = entry->next) ++size;
  return size;
}

#endif /* MY_JSON_H */
