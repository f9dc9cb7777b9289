"""Random platforms: clusters of every topology, and zones within zones of every kind of routing, at any depth."""

from scenarios import HEAD, MASTER

SIZES = [2, 2, 3, 4]  # of a torus
LEAVES = ["Full", "Floyd", "Dijkstra", "DijkstraCache", "Vivaldi", "Vivaldi", "cluster", "None"]


def cluster_kind(dice):
    """A topology, its parameters and its number of hosts."""
    kind = dice.choice(["FLAT", "FAT_TREE", "TORUS", "DRAGONFLY"])
    if kind == "FLAT":
        return kind, "", dice.randint(2, 8)
    if kind == "TORUS":
        sizes = [dice.choice(SIZES) for _ in range(dice.randint(1, 3))]
        hosts = 1
        for size in sizes:
            hosts *= size
        return kind, ",".join(map(str, sizes)), hosts
    if kind == "DRAGONFLY":
        routers, chassis, leaves = dice.choice([2, 3, 4]), dice.choice([1, 2, 3]), dice.choice([1, 2])
        groups = dice.randint(1, routers)
        links = [dice.randint(1, 3) for _ in range(3)]
        text = f"{groups},{links[0]};{chassis},{links[1]};{routers},{links[2]};{leaves}"
        return kind, text, groups * chassis * routers * leaves
    levels = dice.choice([2, 2, 3])
    children, parents, parallel = (
        [dice.choice(some) for _ in range(levels)] for some in ([2, 3, 4], [1, 2, 3], [1, 2])
    )
    hosts = 1
    for number in children:
        hosts *= number
    lists = (",".join(map(str, numbers)) for numbers in (children, parents, parallel))
    return kind, ";".join([str(levels), *lists]), hosts


def cluster_text(dice, name):
    """One cluster, with random links, limiters, loopbacks, backbone, cores and P-states."""
    kind, parameters, hosts = cluster_kind(dice)
    more = [f'topology="{kind}" topo_parameters="{parameters}"'] if kind != "FLAT" else []
    more.append(f'sharing_policy="{dice.choice(["SPLITDUPLEX", "SHARED", "FATPIPE"])}"')
    if kind in ("FLAT", "TORUS") and dice.random() < 0.3:  # in large others SimGrid has two limiters of one name
        more.append(f'limiter_link="{dice.uniform(100, 900):.3f}MBps"')
    if dice.random() < 0.3:
        more.append(f'loopback_bw="{dice.uniform(500, 9000):.3f}MBps" loopback_lat="{dice.choice([0, 1])}us"')
    if kind == "FLAT" and dice.random() < 0.5:
        policy = dice.choice(["SHARED", "FATPIPE"])
        more.append(f'bb_bw="{dice.uniform(200, 3000):.3f}MBps" bb_lat="10us" bb_sharing_policy="{policy}"')
    speeds = ",".join(f"{dice.uniform(0.3, 4):.4f}Gf" for _ in range(3))
    return (
        f'<cluster id="{name}" prefix="{name}h" suffix="" radical="0-{hosts - 1}" speed="{speeds}" '
        f'router_id="r_{name}" core="{dice.choice([1, 1, 1, 2, 4])}" bw="{dice.uniform(50, 2000):.3f}MBps" '
        f'lat="{dice.choice([0, 1, 50])}us" '
        f'{" ".join(more)}><prop id="wattage_per_state" value="{watts_text(dice)}"/></cluster>'
    )


def watts_text(dice):
    """W of the three P-states: idle and full, or idle, at the least load and full."""
    states = []
    for _ in range(3):
        idle, least, full = sorted(dice.uniform(5, 300) for _ in range(3))
        states.append(f"{idle:.3f}:{least:.3f}:{full:.3f}" if dice.random() < 0.7 else f"{idle:.3f}:{full:.3f}")
    return ", ".join(states)


class Maker:
    """Makes zones whose names count on."""

    def __init__(self, dice):
        """Begin without zones."""
        self.dice = dice
        self.made = 0

    def name(self, letter):
        """Return a new name."""
        self.made += 1
        return f"{letter}{self.made}"

    def host(self, coordinates=""):
        """Return a host with three P-states, and its name."""
        name = self.name("h")
        speeds = ",".join(f"{self.dice.uniform(0.3, 4):.4f}Gf" for _ in range(3))
        watts = f'<prop id="wattage_per_state" value="{watts_text(self.dice)}"/>'
        core = self.dice.choice([1, 1, 2, 4])
        return name, f'<host id="{name}" speed="{speeds}" core="{core}"{coordinates}>{watts}</host>'

    def links(self, most=3):
        """Return some links, and their names with the direction in which a route crosses them."""
        texts, crossed = [], []
        for _ in range(self.dice.randint(1, most)):
            name, policy = self.name("l"), self.dice.choice(["SHARED", "FATPIPE", "SPLITDUPLEX"])
            latency = self.dice.choice([0, 3, 47, 210])
            texts.append(
                f'<link id="{name}" bandwidth="{self.dice.uniform(50, 3000):.3f}MBps" latency="{latency}us" '
                f'sharing_policy="{policy}"/>'
            )
            way = f' direction="{self.dice.choice(["UP", "DOWN"])}"' if policy == "SPLITDUPLEX" else ""
            crossed.append(f'<link_ctn id="{name}"{way}/>')
        return "".join(texts), "".join(crossed)

    def zone(self, depth):
        """Return the text of a zone, its hosts, and the points at which routes may leave and enter it."""
        if depth == 0 or self.dice.random() < 0.3:
            kind = self.dice.choice(LEAVES)
            return {"cluster": self.cluster, "Vivaldi": self.vivaldi, "None": self.single}.get(
                kind, lambda: self.graph(kind)
            )()
        return self.nest([self.zone(depth - 1) for _ in range(self.dice.randint(2, 3))])

    def single(self):
        """Return a zone of one host."""
        name, text = self.host()
        return self.around("Full", text), [name], [name]

    def around(self, routing, text):
        """Put a zone around a text."""
        return f'<zone id="{self.name("z")}" routing="{routing}">{text}</zone>'

    def cluster(self):
        """Return a cluster of any topology."""
        name = self.name("c")
        text = cluster_text(self.dice, name)
        count = int(text.split('radical="0-')[1].split('"')[0]) + 1
        hosts = [f"{name}h{number}" for number in range(count)]
        return text, hosts, [self.dice.choice(hosts)] if "topology" in text else [f"r_{name}"]

    def vivaldi(self):
        """Return peers, or hosts and a router, with coordinates; SimGrid's XML does not allow both in one zone."""
        if self.dice.random() < 0.5:
            made = [self.peer() for _ in range(self.dice.randint(1, 4))]
            names = [name for name, _ in made]
            return self.around("Vivaldi", "".join(text for _, text in made)), names, names
        made = [self.host(f' coordinates="{self.place()}"') for _ in range(self.dice.randint(1, 4))]
        router = self.name("r")
        text = "".join(text for _, text in made) + f'<router id="{router}" coordinates="{self.place()}"/>'
        names = [name for name, _ in made]
        return self.around("Vivaldi", text), names, [*names, router]

    def place(self):
        """Return coordinates."""
        return " ".join(f"{self.dice.uniform(-40, 40):.3f}" for _ in range(3))

    def peer(self):
        """Return a peer, which has one P-state, and its name."""
        name = self.name("p")
        ways = " ".join(f'{way}="{self.dice.uniform(20, 900):.3f}MBps"' for way in ("bw_in", "bw_out"))
        speed = f"{self.dice.uniform(0.3, 4):.4f}Gf"
        return name, f'<peer id="{name}" speed="{speed}" {ways} coordinates="{self.place()}"/>'

    def graph(self, routing):
        """Return hosts and a router, every two with a route, or all connected."""
        made = [self.host() for _ in range(self.dice.randint(1, 4))]
        router = self.name("r")
        points = [name for name, _ in made] + [router]
        text = "".join(text for _, text in made) + f'<router id="{router}"/>'
        text += self.routes(routing, "route", points, lambda one, other: "")
        return self.around(routing, text), points[:-1], points

    def routes(self, routing, tag, points, gateways):
        """Return links and routes between points; *gateways* are those of two points, as attributes."""
        wires, routes = [], []
        for one, other in self.pairs(points, routing == "Full"):
            links, crossed = self.links()
            wires.append(links)
            if routing == "Full" and self.dice.random() < 0.3:
                back, crossed_back = self.links()
                wires.append(back)
                ends = f'src="{other}" dst="{one}" symmetrical="NO"{gateways(other, one)}'
                routes.append(f"<{tag} {ends}>{crossed_back}</{tag}>")
                sides = ' symmetrical="NO"'
            else:
                sides = ""
            ends = f'src="{one}" dst="{other}"{sides}{gateways(one, other)}'
            routes.append(f"<{tag} {ends}>{crossed}</{tag}>")
        if len(points) > 1 and self.dice.random() < 0.3:  # these go one way, and need links
            one, other = self.dice.sample(points, 2)
            links, crossed = self.links()
            wires.append(links)
            instead = f"bypass{tag[0].upper()}{tag[1:]}"
            routes.append(f'<{instead} src="{one}" dst="{other}"{gateways(one, other)}>{crossed}</{instead}>')
        self.dice.shuffle(routes)
        return "".join(wires + routes)

    def pairs(self, points, all_of_them):
        """Return all pairs, or some that connect all points."""
        every = [(one, other) for place, one in enumerate(points) for other in points[place + 1 :]]
        if all_of_them:
            return every
        kept = {(self.dice.choice(points[:place]), points[place]) for place in range(1, len(points))}
        return [pair for pair in every if pair in kept or self.dice.random() < 0.3]

    def nest(self, parts, routing=None):
        """Return a zone around zones."""
        routing = routing or self.dice.choice(["Full", "Full", "Floyd", "Dijkstra", "DijkstraCache"])
        names = [text.split('id="')[1].split('"')[0] for text, _, _ in parts]
        inside = dict(zip(names, (points for _, _, points in parts), strict=True))
        if routing.startswith("Dijkstra"):  # SimGrid 3.32 ends in a segmentation fault where one has two gateways
            inside = {name: [self.dice.choice(points)] for name, points in inside.items()}
        gateways = lambda one, other: (  # noqa: E731
            f' gw_src="{self.dice.choice(inside[one])}" gw_dst="{self.dice.choice(inside[other])}"'
        )
        text = "".join(text for text, _, _ in parts) + self.routes(routing, "zoneRoute", names, gateways)
        hosts = [name for _, names, _ in parts for name in names]
        return self.around(routing, text), hosts, [point for _, _, points in parts for point in points]


def clusters_of(dice):
    """Return a platform of one or two clusters beside the master's zone."""
    maker = Maker(dice)
    return beside_the_master(maker, [maker.cluster() for _ in range(dice.choice([1, 1, 2]))])


def nested_of(dice):
    """Return a platform of nested zones beside the master's."""
    maker = Maker(dice)
    return beside_the_master(maker, [maker.zone(dice.randint(1, 3)) for _ in range(dice.choice([1, 2]))])


def beside_the_master(maker, parts):
    """Return the text of a platform."""
    text, _, _ = maker.nest([(MASTER, [], ["master_host"]), *parts], maker.dice.choice(["Full", "Full", "Floyd"]))
    return f"{HEAD}{text}</platform>\n"
