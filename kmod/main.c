// SPDX-License-Identifier: GPL-2.0-or-later
#include "module.h"

#include <linux/module.h>

static int __init weir_init(void)
{
	int err;

	err = weir_flows_init();
	if (err)
		return err;
	err = register_pernet_subsys(&weir_net_ops);
	if (err)
		goto no_net;
	/* Last, because from here on there are commands. */
	err = weir_netlink_init();
	if (err)
		goto no_netlink;
	pr_info("weir: flow cache " WEIR_VERSION "\n");
	return 0;

no_netlink:
	unregister_pernet_subsys(&weir_net_ops);
no_net:
	weir_flows_exit();
	return err;
}

static void __exit weir_exit(void)
{
	weir_netlink_exit();
	unregister_pernet_subsys(&weir_net_ops);
	weir_flows_exit();
}

module_init(weir_init);
module_exit(weir_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("weir load balancer: cache of known flows");
MODULE_VERSION(WEIR_VERSION);
MODULE_ALIAS_GENL_FAMILY(WEIR_GENL_NAME);
