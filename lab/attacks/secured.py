"""A server with TLS and users, as attacks and tests start it."""

from pathlib import Path

import bcrypt
from lab.attacks.attackers import USERS, Target
from tests.fss_exporter.web.certificates import Authority

PASSWORD = "the right one"  # noqa: S105  # of a test


def secure(folder: Path, port: int, cost: int = 10) -> tuple[Target, str]:
    """A target with a hundred users, and the flag of the server; `cost` is that of bcrypt."""
    authority = Authority(folder)
    pair = authority.sign("server")
    stored = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(cost)).decode()
    users = "".join(f"  scraper{number}: {stored}\n" for number in range(USERS))
    web = folder / "web.yml"
    web.write_text(
        f"tls_server_config: {{cert_file: {pair.certificate}, key_file: {pair.key}}}\nbasic_auth_users:\n{users}"
    )
    target = Target(port, authority.pair.certificate, "scraper{}", PASSWORD)
    return target, f"--web.config.file={web}"
