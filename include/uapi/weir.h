/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * What weir's engine and its kernel module say to each other.
 *
 * Generic netlink family WEIR_GENL_NAME, version WEIR_GENL_VERSION, in each network namespace.
 * Every command needs CAP_NET_ADMIN in the user namespace that owns the network namespace.
 * Attributes that a command does not know are refused, and so are values out of range; the
 * extended acknowledgment names the attribute. A refused command has changed nothing, except that
 * of the elements of an array those before the refused one are in effect.
 *
 * The module knows *flows*: which backend gets the packets of a key. It learns them from the marks
 * that the queue's verdicts leave in packets, and it decides nothing by itself: a packet it is not
 * sure about goes to the queue as if the module were not there.
 *
 * A flow is valid while its backend is there, its epoch (the service's at the time it was learned)
 * is not older than the backend's for the flow's class of protocol, and it was used within the
 * idle timeout. A flow that is not valid is as good as none; its memory comes back by itself. To
 * end the flows of a backend in one step, raise the backend's epoch; to be sure that no verdict
 * under way makes one that outlives the step, raise the service's epoch only after the last such
 * verdict has been sent.
 */
#ifndef _UAPI_WEIR_H
#define _UAPI_WEIR_H

#define WEIR_GENL_NAME "weir"
#define WEIR_GENL_VERSION 1

/* Most elements of one array of flows in a request. */
#define WEIR_MAX_FLOWS_PER_MESSAGE 256

/*
 * WEIR_CMD_NODE_SET     MARK_MASK, MAX_FLOWS. Begins to look at the namespace's packets, or changes
 *                       the maximum; another mask is refused with EBUSY until NODE_DEL.
 * WEIR_CMD_NODE_DEL     -. Services, flows and counters are forgotten, packets are left alone.
 * WEIR_CMD_NODE_GET     -. Answers MODULE_VERSION, MARK_MASK (0: no node), MAX_FLOWS, FLOW_COUNT,
 *                       BYTES_PER_FLOW, COUNTERS.
 * WEIR_CMD_SERVICE_SET  SERVICE, EPOCH; for a new one KEY, IDLE_TIMEOUT; SERVICE_FLAGS (0 if left
 *                       out for a new one), RULES. What is left out stays as it is; RULES replaces
 *                       all rules of the service. Another KEY ends the service's flows.
 * WEIR_CMD_SERVICE_DEL  SERVICE. ENOENT if there is none.
 * WEIR_CMD_SERVICE_GET  dump. SERVICE, KEY, SERVICE_FLAGS, IDLE_TIMEOUT, EPOCH.
 * WEIR_CMD_BACKEND_SET  SERVICE, BACKENDS: SLOT, MARK, epochs. A slot with another mark than before
 *                       is another backend, and the flows of the former one end.
 * WEIR_CMD_BACKEND_DEL  SERVICE, SLOT.
 * WEIR_CMD_BACKEND_GET  dump. SERVICE and one BACKENDS element with its counters.
 * WEIR_CMD_FLOW_DEL     FLOWS: keys, those that are not there are passed over; or SERVICE: all of
 *                       its flows; or SERVICE and SLOT: all of the backend's.
 * WEIR_CMD_FLOW_GET     FLOWS: keys. Answers FLOWS: those that are there and valid.
 *                       Dump: the valid ones, some in each message. A dump while the table grows or
 *                       shrinks may show a flow twice.
 */
enum weir_cmd {
	WEIR_CMD_UNSPEC,
	WEIR_CMD_NODE_SET,
	WEIR_CMD_NODE_DEL,
	WEIR_CMD_NODE_GET,
	WEIR_CMD_SERVICE_SET,
	WEIR_CMD_SERVICE_DEL,
	WEIR_CMD_SERVICE_GET,
	WEIR_CMD_BACKEND_SET,
	WEIR_CMD_BACKEND_DEL,
	WEIR_CMD_BACKEND_GET,
	WEIR_CMD_FLOW_DEL,
	WEIR_CMD_FLOW_GET,
	__WEIR_CMD_MAX
};

#define WEIR_CMD_MAX (__WEIR_CMD_MAX - 1)

enum weir_attr {
	WEIR_A_UNSPEC,
	WEIR_A_MODULE_VERSION, /* string */
	WEIR_A_MARK_MASK,      /* u32, not 0: bits of a packet's mark that are weir's */
	/*
	 * u32, 1 to 2^27; the one idle longest gives way. 65,536 at most count where the namespace
	 * does not belong to the initial user namespace.
	 */
	WEIR_A_MAX_FLOWS,
	WEIR_A_FLOW_COUNT,     /* u32; those not valid any more included until they are collected */
	WEIR_A_BYTES_PER_FLOW, /* u32; of a flow's memory, without the hash table's 8 to 16 */
	WEIR_A_COUNTERS,       /* nested, enum weir_counter_attr */
	WEIR_A_SERVICE,        /* u16 */
	WEIR_A_KEY,            /* u8, enum weir_key_mode */
	WEIR_A_SERVICE_FLAGS,  /* u32, enum weir_service_flag */
	WEIR_A_IDLE_TIMEOUT,   /* u32, seconds, 1 to 57,600 */
	WEIR_A_EPOCH,          /* u32; what the service's newly learned flows carry */
	WEIR_A_RULES,          /* array of enum weir_rule_attr */
	WEIR_A_SLOT,           /* u16 */
	WEIR_A_BACKENDS,       /* array of enum weir_backend_attr */
	WEIR_A_FLOWS,          /* array of enum weir_flow_attr */
	__WEIR_A_MAX
};

#define WEIR_A_MAX (__WEIR_A_MAX - 1)

/* Which attributes of a packet are its service's key. */
enum weir_key_mode {
	WEIR_KEY_FINEST, /* 5-tuple for TCP and UDP that is not a fragment, else 3-tuple */
	WEIR_KEY_THREE,  /* source, destination, protocol */
	WEIR_KEY_TWO,    /* source, destination */
	WEIR_KEY_ONE,    /* source */
};

enum weir_service_flag {
	/* A TCP packet with SYN and without ACK goes to the queue even if its flow is known. */
	WEIR_SERVICE_SYN_IS_NEW = 1 << 0,
	/*
	 * Packets of known flows may be handed to the backend's neighbour at once, past the routing
	 * rules and the hooks behind prerouting. Only where the module's parameter `direct`
	 * allows it.
	 */
	WEIR_SERVICE_DIRECT = 1 << 1,
};

#define WEIR_SERVICE_FLAGS (WEIR_SERVICE_SYN_IS_NEW | WEIR_SERVICE_DIRECT)

/*
 * Packets of a destination address. The most specific rule counts: one of the packet's protocol
 * with its port, one of its protocol for all ports, one for all protocols.
 */
enum weir_rule_attr {
	WEIR_RULE_A_UNSPEC,
	WEIR_RULE_A_ADDRESS,    /* 4 or 16 bytes, network order */
	WEIR_RULE_A_PROTOCOL,   /* u8; 0 or absent: every one */
	WEIR_RULE_A_FIRST_PORT, /* u16, host order; absent: all ports, and packets without any */
	WEIR_RULE_A_LAST_PORT,  /* u16, with FIRST_PORT only and not below it */
	__WEIR_RULE_A_MAX
};

#define WEIR_RULE_A_MAX (__WEIR_RULE_A_MAX - 1)

enum weir_backend_attr {
	WEIR_BACKEND_A_UNSPEC,
	WEIR_BACKEND_A_SLOT,        /* u16 */
	WEIR_BACKEND_A_MARK,        /* u32, not 0 and within MARK_MASK */
	WEIR_BACKEND_A_EPOCH_TCP,   /* u32; older flows of TCP keys are not valid; absent: 0 */
	WEIR_BACKEND_A_EPOCH_UDP,   /* u32; likewise of UDP keys */
	WEIR_BACKEND_A_EPOCH_OTHER, /* u32; of all others, keys without a protocol included */
	WEIR_BACKEND_A_PACKETS,     /* u64; that the module answered for */
	WEIR_BACKEND_A_BYTES,       /* u64; of these packets, from the network header on */
	WEIR_BACKEND_A_PAD,
	__WEIR_BACKEND_A_MAX
};

#define WEIR_BACKEND_A_MAX (__WEIR_BACKEND_A_MAX - 1)

/* What of a tuple counts; the attributes that do not are left out (ports) or refused. */
enum weir_flow_kind {
	WEIR_FLOW_FIVE,
	WEIR_FLOW_THREE,
	WEIR_FLOW_TWO,
	WEIR_FLOW_ONE,
};

enum weir_flow_attr {
	WEIR_FLOW_A_UNSPEC,
	WEIR_FLOW_A_SERVICE,          /* u16 */
	WEIR_FLOW_A_KIND,             /* u8, enum weir_flow_kind */
	WEIR_FLOW_A_SOURCE,           /* 4 or 16 bytes, network order */
	WEIR_FLOW_A_DESTINATION,      /* the same length; not with WEIR_FLOW_ONE */
	WEIR_FLOW_A_PROTOCOL,         /* u8; FIVE and THREE */
	WEIR_FLOW_A_SOURCE_PORT,      /* u16, host order; FIVE */
	WEIR_FLOW_A_DESTINATION_PORT, /* u16, host order; FIVE */
	/* In answers only: */
	WEIR_FLOW_A_SLOT,     /* u16, of the backend */
	WEIR_FLOW_A_EPOCH,    /* u32 */
	WEIR_FLOW_A_IDLE,     /* u32, milliseconds since the last packet */
	WEIR_FLOW_A_ONLY_SYN, /* flag: no packet but SYNs so far */
	__WEIR_FLOW_A_MAX
};

#define WEIR_FLOW_A_MAX (__WEIR_FLOW_A_MAX - 1)

/* u64 each. Packets are counted once, under the first that fits. */
enum weir_counter_attr {
	WEIR_COUNTER_A_UNSPEC,
	WEIR_COUNTER_A_DIRECT,  /* known, handed to the backend's neighbour */
	WEIR_COUNTER_A_MARKED,  /* known, marked for the routing rules */
	WEIR_COUNTER_A_MISSED,  /* of a service, but of no valid flow: left to the queue */
	WEIR_COUNTER_A_NEW_BY_SYN, /* left to the queue because of SERVICE_SYN_IS_NEW */
	WEIR_COUNTER_A_UNUSUAL, /* errors, malformed or rare packets, not looked up */
	/* Flows: */
	WEIR_COUNTER_A_LEARNED,
	WEIR_COUNTER_A_REPLACED, /* that got another backend */
	WEIR_COUNTER_A_EXPIRED,  /* idle or not valid any more, and collected */
	WEIR_COUNTER_A_EVICTED,  /* gave way because the table was full */
	WEIR_COUNTER_A_UNLEARNED, /* no memory or no room for them */
	WEIR_COUNTER_A_PAD,
	__WEIR_COUNTER_A_MAX
};

#define WEIR_COUNTER_A_MAX (__WEIR_COUNTER_A_MAX - 1)

#endif /* _UAPI_WEIR_H */
