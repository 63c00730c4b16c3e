"""An operator who runs `fss-exporter alarms` on the demo region, and what there is to name."""

import shutil
from pathlib import Path

from tests.prompt import Answer, ask
from tests.region import Region, small

MQL = Path(__file__).parents[3] / "mql"
COMPARTMENTS = {compartment.name: compartment.id for compartment in small().compartments}
STORAGE = COMPARTMENTS["storage"]
TOPIC = small().topics[0]
HOME = next(target.id for target in small().mount_targets if target.name == "mt-home")


class Operator:
    """An operator at the prompt with an account, and a pack of two alarms to keep it short."""

    def __init__(self, region: Region, directory: Path) -> None:
        self.region = region
        self.directory = directory
        self.key_file = region.account.write_config(directory, region.tenancy.region)
        self.config = directory / "fss-exporter.yml"
        self.pack = directory / "pack"
        self.pack.mkdir()
        for name in ("fss-mount-target-iops-peak.json", "fss-kerberos-errors.json"):
            shutil.copy(MQL / "templates" / "alarms" / name, self.pack)
        self.configure("")

    def configure(self, more: str) -> None:
        self.config.write_text(f"oci: {{endpoint: '{self.region.url}'}}\n{more}")

    def signed_in(self) -> list[str]:
        return ["--config.file", str(self.config), "--oci.config-file", str(self.key_file)]

    def account(self) -> list[str]:
        return [*self.signed_in(), "--pack", str(self.pack)]

    def alarms(self, command: str, *more: str, topic: str = TOPIC) -> Answer:
        return ask("alarms", command, *self.account(), "--compartment", STORAGE, "--topic", topic, *more)

    def destroy(self) -> Answer:
        return ask("alarms", "destroy", *self.signed_in(), "--compartment", STORAGE, "--yes")
