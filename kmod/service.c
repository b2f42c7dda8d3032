// SPDX-License-Identifier: GPL-2.0-or-later
#include "module.h"

static atomic_t weir_last_uid = ATOMIC_INIT(0);

static void weir_service_free(struct rcu_head *rcu)
{
	struct weir_service *service = container_of(rcu, struct weir_service, rcu);

	xa_destroy(&service->by_slot);
	xa_destroy(&service->by_mark);
	kfree(service);
}

static void weir_service_put(struct weir_service *service)
{
	if (refcount_dec_and_test(&service->refs))
		call_rcu(&service->rcu, weir_service_free);
}

static void weir_backend_free(struct rcu_head *rcu)
{
	struct weir_backend *backend = container_of(rcu, struct weir_backend, rcu);

	dst_cache_destroy(&backend->routes[0]);
	dst_cache_destroy(&backend->routes[1]);
	free_percpu(backend->counters);
	kfree(backend);
}

void weir_backend_put(struct weir_backend *backend)
{
	struct weir_service *service = backend->service;

	if (refcount_dec_and_test(&backend->refs)) {
		call_rcu(&backend->rcu, weir_backend_free);
		/* Packets that see the backend see its service: both grace periods begin now. */
		weir_service_put(service);
	}
}

struct weir_service *weir_service_find(struct weir_node *node, u16 id)
{
	return xa_load(&node->services, id);
}

void weir_service_forget_flows(struct weir_service *service)
{
	WRITE_ONCE(service->uid, atomic_inc_return(&weir_last_uid));
}

struct weir_service *weir_service_make(struct weir_node *node, u16 id, u8 key_mode)
{
	struct weir_service *service = kzalloc(sizeof(*service), GFP_KERNEL_ACCOUNT);
	int err;

	lockdep_assert_held(&node->lock);
	if (!service)
		return ERR_PTR(-ENOMEM);
	service->id = id;
	service->key_mode = key_mode;
	xa_init_flags(&service->by_slot, XA_FLAGS_ACCOUNT);
	xa_init_flags(&service->by_mark, XA_FLAGS_ACCOUNT);
	refcount_set(&service->refs, 1);
	weir_service_forget_flows(service);
	err = xa_err(xa_store(&node->services, id, service, GFP_KERNEL));
	if (err) {
		kfree(service);
		return ERR_PTR(err);
	}
	return service;
}

void weir_service_remove(struct weir_node *node, struct weir_service *service)
{
	struct weir_backend *backend;
	unsigned long slot;

	lockdep_assert_held(&node->lock);
	weir_rules_replace(node, service, NULL);
	xa_for_each(&service->by_slot, slot, backend)
		weir_backend_remove(service, backend);
	xa_erase(&node->services, service->id);
	weir_service_put(service);
}

struct weir_backend *weir_backend_find(struct weir_service *service, u16 slot)
{
	return xa_load(&service->by_slot, slot);
}

static struct weir_backend *weir_backend_make(struct weir_service *service, u16 slot, u32 mark,
					      const u32 *epochs)
{
	struct weir_backend *backend = kzalloc(sizeof(*backend), GFP_KERNEL_ACCOUNT);

	if (!backend)
		return NULL;
	backend->slot = slot;
	backend->mark = mark;
	memcpy(backend->epochs, epochs, sizeof(backend->epochs));
	backend->direct_after = jiffies;
	backend->counters = alloc_percpu_gfp(struct weir_backend_counters, GFP_KERNEL_ACCOUNT);
	if (!backend->counters || dst_cache_init(&backend->routes[0], GFP_KERNEL_ACCOUNT) ||
	    dst_cache_init(&backend->routes[1], GFP_KERNEL_ACCOUNT)) {
		weir_backend_free(&backend->rcu);
		return NULL;
	}
	refcount_set(&backend->refs, 1);
	refcount_inc(&service->refs);
	backend->service = service;
	return backend;
}

static void weir_backend_retire(struct weir_service *service, struct weir_backend *backend)
{
	WRITE_ONCE(backend->dead, true);
	/* The mark may be another one's already. */
	xa_cmpxchg(&service->by_mark, backend->mark, backend, NULL, GFP_KERNEL);
	weir_backend_put(backend);
}

void weir_backend_remove(struct weir_service *service, struct weir_backend *backend)
{
	xa_erase(&service->by_slot, backend->slot);
	weir_backend_retire(service, backend);
}

/* In the place of whoever has the slot, who stays if memory is short. */
static int weir_backend_add(struct weir_service *service, u16 slot, u32 mark, const u32 *epochs)
{
	struct weir_backend *backend = weir_backend_make(service, slot, mark, epochs);
	struct weir_backend *former = weir_backend_find(service, slot);
	void *marked;
	int err;

	if (!backend)
		return -ENOMEM;
	marked = xa_store(&service->by_mark, mark, backend, GFP_KERNEL);
	err = xa_err(marked);
	if (err)
		goto no_mark;
	err = xa_err(xa_store(&service->by_slot, slot, backend, GFP_KERNEL));
	if (err)
		goto no_slot;
	if (former)
		weir_backend_retire(service, former);
	return 0;

no_slot:
	/* Needs no memory: the place is there. */
	xa_store(&service->by_mark, mark, marked, GFP_KERNEL);
no_mark:
	weir_backend_retire(service, backend);
	return err;
}

int weir_backend_set(struct weir_service *service, u16 slot, u32 mark, const u32 *epochs)
{
	struct weir_backend *backend = weir_backend_find(service, slot);
	int i;

	if (!backend || backend->mark != mark)
		return weir_backend_add(service, slot, mark, epochs);
	for (i = 0; i < WEIR_CLASSES; ++i)
		WRITE_ONCE(backend->epochs[i], epochs[i]);
	return 0;
}

/* The same backend again, without flows. */
int weir_backend_renew(struct weir_service *service, struct weir_backend *backend)
{
	return weir_backend_add(service, backend->slot, backend->mark, backend->epochs);
}
