.users[] | select(.age >= 18 and .name != null) | {name, id: .id}
