"""A quiz as a QTI 2.1 content package: one file per question, a test over them, and a manifest."""

import xml.etree.ElementTree as ET

from course_lib.classroom.lms_qti import QTI, item_xml
from course_lib.classroom.lms_texts import add, xml_bytes, zipped

PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"


def write_qti(quiz, path):
    """Write a quiz as a QTI 2.1 content package."""
    files = {f"{item['id']}.xml": item_xml(item) for item in quiz["items"]}
    zipped(path, {"imsmanifest.xml": _manifest(quiz), "test.xml": _test(quiz), **files})


def _test(quiz):
    root = ET.Element("assessmentTest", xmlns=QTI, identifier="test", title=quiz["notebook"])
    part = add(root, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="individual")
    add(part, "itemSessionControl", maxAttempts="0", showFeedback="true")
    section = add(part, "assessmentSection", identifier="section", title=quiz["notebook"], visible="true")
    for item in quiz["items"]:
        add(section, "assessmentItemRef", identifier=item["id"], href=f"{item['id']}.xml")
    return xml_bytes(root)


def _manifest(quiz):
    root = ET.Element("manifest", identifier=f"m{quiz['notebook']}", xmlns=PACKAGE)
    metadata = add(root, "metadata")
    add(metadata, "schema", "QTIv2.1 Package")
    add(metadata, "schemaversion", "1.0.0")
    add(root, "organizations")
    resources = add(root, "resources")
    test = add(resources, "resource", identifier="test", type="imsqti_test_xmlv2p1", href="test.xml")
    add(test, "file", href="test.xml")
    for item in quiz["items"]:
        name = f"{item['id']}.xml"
        add(test, "dependency", identifierref=item["id"])
        add(add(resources, "resource", identifier=item["id"], type="imsqti_item_xmlv2p1", href=name), "file", href=name)
    return xml_bytes(root)
